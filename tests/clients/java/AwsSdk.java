// The AWS SDK for Java v2: its clients that wait and that do not, and its manager of batches. It
// checks the digest of every body. The server is told by CLIENTS_SQS, HOST:PORT.

import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.sqs.SqsAsyncClient;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.batchmanager.SqsAsyncBatchManager;
import software.amazon.awssdk.services.sqs.model.*;

public final class AwsSdk {
    static final URI SERVER = URI.create("http://" + System.getenv("CLIENTS_SQS"));
    static final StaticCredentialsProvider CREDENTIALS =
            StaticCredentialsProvider.create(AwsBasicCredentials.create("test", "test"));
    static final long WITHIN_SECONDS = 30;

    static final SqsClient sqs = SqsClient.builder()
            .endpointOverride(SERVER).region(Region.US_EAST_1).credentialsProvider(CREDENTIALS)
            .overrideConfiguration(o -> o.retryStrategy(r -> r.maxAttempts(1)))
            .build();
    static final SqsAsyncClient async = SqsAsyncClient.builder()
            .endpointOverride(SERVER).region(Region.US_EAST_1).credentialsProvider(CREDENTIALS)
            .overrideConfiguration(o -> o.retryStrategy(r -> r.maxAttempts(1)))
            .build();

    interface Body {
        void run(String url) throws Exception;
    }

    static final Map<String, Body> TESTS = new LinkedHashMap<>();

    static {
        TESTS.put("bodies come back exactly as sent", AwsSdk::bodies);
        TESTS.put("attributes of every type come back", AwsSdk::attributes);
        TESTS.put("batches are sent, received, hidden and deleted", AwsSdk::batches);
        TESTS.put("the manager of batches sends, receives and deletes", AwsSdk::manager);
        TESTS.put("a message comes back when its visibility timeout ends", AwsSdk::visibility);
        TESTS.put("a long poll is answered as soon as a message comes", AwsSdk::longPoll);
        TESTS.put("a FIFO queue keeps order and refuses repetition", AwsSdk::fifo);
        TESTS.put("a poisonous message ends in the dead-letter queue", AwsSdk::deadLetter);
        TESTS.put("a paginator sees every queue once", AwsSdk::paginator);
        TESTS.put("errors arrive as the classes of the SDK", AwsSdk::errors);
    }

    static void equal(Object got, Object wanted) {
        if (!got.equals(wanted)) {
            throw new AssertionError("got " + got + ", want " + wanted);
        }
    }

    static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }

    static void throwsA(Class<? extends Exception> wanted, Runnable call) {
        try {
            call.run();
        } catch (Exception error) {
            check(wanted.isInstance(error), "got " + error);
            return;
        }
        throw new AssertionError("nothing was thrown");
    }

    static String create(String suffix, Map<QueueAttributeName, String> attributes) {
        String name = "java-" + UUID.randomUUID() + suffix;
        return sqs.createQueue(r -> r.queueName(name).attributes(attributes)).queueUrl();
    }

    static List<Message> receive(String url, Consumer<ReceiveMessageRequest.Builder> options) {
        List<Message> messages = sqs.receiveMessage(r -> {
            r.queueUrl(url).waitTimeSeconds(20).messageAttributeNames("All");
            r.messageSystemAttributeNames(MessageSystemAttributeName.ALL);
            options.accept(r);
        }).messages();
        check(!messages.isEmpty(), "no message came");
        return messages;
    }

    static void empty(String url) {
        equal(sqs.receiveMessage(r -> r.queueUrl(url)).messages(), List.of());
    }

    static void hide(String url, Message message, int seconds) {
        sqs.changeMessageVisibility(r -> r.queueUrl(url)
                .receiptHandle(message.receiptHandle()).visibilityTimeout(seconds));
    }

    static void delete(String url, Message message) {
        sqs.deleteMessage(r -> r.queueUrl(url).receiptHandle(message.receiptHandle()));
    }

    /** Fails unless the queue holds so many messages, whatever their state. */
    static void left(String url, int wanted) {
        Map<QueueAttributeName, String> told = sqs.getQueueAttributes(r -> r.queueUrl(url)
                .attributeNames(EnumSet.of(
                        QueueAttributeName.APPROXIMATE_NUMBER_OF_MESSAGES,
                        QueueAttributeName.APPROXIMATE_NUMBER_OF_MESSAGES_NOT_VISIBLE,
                        QueueAttributeName.APPROXIMATE_NUMBER_OF_MESSAGES_DELAYED)))
                .attributes();
        equal(told.size(), 3);
        equal(told.values().stream().mapToInt(Integer::parseInt).sum(), wanted);
    }

    static void bodies(String url) {
        String large = "x".repeat(1 << 20);
        for (String body : List.of("plain", "žluť 日本語 🦀", "<&>\"'\r\n\t", large)) {
            String id = sqs.sendMessage(r -> r.queueUrl(url).messageBody(body)).messageId();
            Message message = receive(url, r -> {}).get(0);
            check(message.body().equals(body), "the body differs");
            equal(message.messageId(), id);
            delete(url, message);
        }
        left(url, 0);
    }

    static void attributes(String url) {
        byte[] bytes = new byte[256];
        IntStream.range(0, 256).forEach(n -> bytes[n] = (byte) n);
        Map<String, MessageAttributeValue> sent = Map.of(
                "word", MessageAttributeValue.builder().dataType("String").stringValue("日本").build(),
                "number", MessageAttributeValue.builder().dataType("Number.float")
                        .stringValue("4563442423554324324264524243.325").build(),
                "bytes", MessageAttributeValue.builder().dataType("Binary")
                        .binaryValue(SdkBytes.fromByteArray(bytes)).build());
        sqs.sendMessage(r -> r.queueUrl(url).messageBody("x").messageAttributes(sent));
        Message message = receive(url, r -> {}).get(0);
        equal(message.messageAttributes(), sent);
        equal(message.attributes().get(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT), "1");
    }

    static void batches(String url) {
        List<String> bodies = IntStream.range(0, 10).mapToObj(n -> "body " + n).toList();
        SendMessageBatchResponse sent = sqs.sendMessageBatch(r -> r.queueUrl(url).entries(
                bodies.stream().map(body -> SendMessageBatchRequestEntry.builder()
                        .id("e" + body.charAt(5)).messageBody(body).build()).toList()));
        equal(sent.successful().size(), 10);
        List<Message> seen = new ArrayList<>();
        while (seen.size() < 10) {
            seen.addAll(receive(url, r -> r.maxNumberOfMessages(10)));
        }
        equal(seen.stream().map(Message::body).sorted().toList(), bodies);
        equal(sqs.changeMessageVisibilityBatch(r -> r.queueUrl(url).entries(
                IntStream.range(0, 10).mapToObj(n -> ChangeMessageVisibilityBatchRequestEntry.builder()
                        .id("e" + n).receiptHandle(seen.get(n).receiptHandle())
                        .visibilityTimeout(60).build()).toList())).successful().size(), 10);
        empty(url);
        equal(sqs.deleteMessageBatch(r -> r.queueUrl(url).entries(
                IntStream.range(0, 10).mapToObj(n -> DeleteMessageBatchRequestEntry.builder()
                        .id("e" + n).receiptHandle(seen.get(n).receiptHandle()).build())
                        .toList())).successful().size(), 10);
        left(url, 0);
    }

    static void manager(String url) throws Exception {
        List<String> bodies = new ArrayList<>();
        List<CompletableFuture<?>> calls = new ArrayList<>();
        try (SqsAsyncBatchManager manager = async.batchManager()) {
            for (int n = 0; n < 25; n++) {
                String body = "body " + n;
                bodies.add(body);
                calls.add(manager.sendMessage(r -> r.queueUrl(url).messageBody(body)));
            }
            all(calls);
            List<String> seen = new ArrayList<>();
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(WITHIN_SECONDS);
            while (seen.size() < 25) {
                check(System.nanoTime() < deadline, seen.size() + " of 25 messages came");
                for (Message message : manager.receiveMessage(r -> r.queueUrl(url))
                        .get(WITHIN_SECONDS, TimeUnit.SECONDS).messages()) {
                    seen.add(message.body());
                    calls.add(manager.deleteMessage(r -> r.queueUrl(url)
                            .receiptHandle(message.receiptHandle())));
                }
            }
            all(calls);
            Collections.sort(seen);
            Collections.sort(bodies);
            equal(seen, bodies);
        }
        left(url, 0);
    }

    static void all(List<CompletableFuture<?>> calls) throws Exception {
        CompletableFuture.allOf(calls.toArray(CompletableFuture[]::new))
                .get(WITHIN_SECONDS, TimeUnit.SECONDS);
    }

    static void visibility(String url) {
        sqs.sendMessage(r -> r.queueUrl(url).messageBody("x"));
        Message first = receive(url, r -> r.visibilityTimeout(2)).get(0);
        long received = System.nanoTime();
        empty(url);
        Message second = receive(url, r -> r.visibilityTimeout(60)).get(0);
        Duration waited = Duration.ofNanos(System.nanoTime() - received);
        check(waited.toMillis() >= 1900 && waited.toMillis() < 10_000, "it came back after " + waited);
        equal(second.messageId(), first.messageId());
        equal(second.attributes().get(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT), "2");
        hide(url, second, 0);
        delete(url, receive(url, r -> r.visibilityTimeout(60)).get(0));
        left(url, 0);
    }

    static void longPoll(String url) throws Exception {
        CompletableFuture<ReceiveMessageResponse> waiting =
                async.receiveMessage(r -> r.queueUrl(url).waitTimeSeconds(20));
        long started = System.nanoTime();
        TimeUnit.MILLISECONDS.sleep(300);
        check(!waiting.isDone(), "the long poll was answered with nothing there");
        async.sendMessage(r -> r.queueUrl(url).messageBody("wake")).get(WITHIN_SECONDS, TimeUnit.SECONDS);
        equal(waiting.get(WITHIN_SECONDS, TimeUnit.SECONDS).messages().get(0).body(), "wake");
        check(System.nanoTime() - started < TimeUnit.SECONDS.toNanos(5), "the answer was late");
    }

    static void fifo(String standard) {
        String url = create(".fifo", Map.of(QueueAttributeName.FIFO_QUEUE, "true"));
        for (String body : List.of("1", "2", "2", "3")) {
            sqs.sendMessage(r -> r.queueUrl(url).messageBody(body)
                    .messageGroupId("g").messageDeduplicationId(body));
        }
        List<Message> messages = receive(url, r -> r.maxNumberOfMessages(10));
        equal(messages.stream().map(Message::body).toList(), List.of("1", "2", "3"));
        messages.forEach(message -> delete(url, message));
        left(url, 0);
        sqs.deleteQueue(r -> r.queueUrl(url));
    }

    static void deadLetter(String url) {
        String dead = create("", Map.of());
        String arn = sqs.getQueueAttributes(r -> r.queueUrl(dead)
                .attributeNames(QueueAttributeName.QUEUE_ARN))
                .attributes().get(QueueAttributeName.QUEUE_ARN);
        String policy = "{\"deadLetterTargetArn\":\"" + arn + "\",\"maxReceiveCount\":2}";
        sqs.setQueueAttributes(r -> r.queueUrl(url)
                .attributes(Map.of(QueueAttributeName.REDRIVE_POLICY, policy)));
        sqs.sendMessage(r -> r.queueUrl(url).messageBody("poison"));
        for (int n = 0; n < 2; n++) {
            hide(url, receive(url, r -> {}).get(0), 0);
        }
        empty(url);
        equal(receive(dead, r -> {}).get(0).body(), "poison");
        left(url, 0);
        sqs.deleteQueue(r -> r.queueUrl(dead));
    }

    static void paginator(String url) {
        String prefix = "java-pages-" + UUID.randomUUID();
        List<String> wanted = IntStream.range(0, 5).mapToObj(n ->
                sqs.createQueue(r -> r.queueName(prefix + n)).queueUrl()).toList();
        List<String> seen = sqs.listQueuesPaginator(r -> r.queueNamePrefix(prefix).maxResults(2))
                .queueUrls().stream().sorted().toList();
        equal(seen, wanted);
        wanted.forEach(each -> sqs.deleteQueue(r -> r.queueUrl(each)));
    }

    static void errors(String url) {
        throwsA(QueueDoesNotExistException.class, () -> sqs.getQueueUrl(r -> r.queueName("absent")));
        throwsA(ReceiptHandleIsInvalidException.class,
                () -> sqs.deleteMessage(r -> r.queueUrl(url).receiptHandle("forged")));
        throwsA(InvalidMessageContentsException.class,
                () -> sqs.sendMessage(r -> r.queueUrl(url).messageBody("\u0001")));
        throwsA(EmptyBatchRequestException.class,
                () -> sqs.deleteMessageBatch(r -> r.queueUrl(url).entries(List.of())));
    }

    public static void main(String[] arguments) {
        int number = 0;
        int failed = 0;
        for (Map.Entry<String, Body> test : TESTS.entrySet()) {
            number += 1;
            try {
                String url = create("", Map.of());
                test.getValue().run(url);
                sqs.deleteQueue(r -> r.queueUrl(url));
                System.out.println("ok " + number + " - " + test.getKey());
            } catch (Throwable error) {
                failed += 1;
                System.out.println("not ok " + number + " - " + test.getKey());
                error.printStackTrace(System.out);
            }
        }
        System.out.println("1.." + number + "\n# pass " + (number - failed) + "\n# fail " + failed);
        System.exit(failed == 0 ? 0 : 1);
    }
}
