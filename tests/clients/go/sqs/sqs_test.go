// Package clients drives the AWS SDK for Go v2, which checks the digest of every body.
// The server is told by CLIENTS_SQS, HOST:PORT.
package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

// within bounds each test.
const within = 60 * time.Second

// bench is a client with a queue of its own.
type bench struct {
	*testing.T
	*sqs.Client
	ctx context.Context
	url *string
}

func start(t *testing.T, suffix string, attributes map[string]string) *bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	t.Cleanup(cancel)
	client := sqs.NewFromConfig(aws.Config{
		Region: "us-east-1",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
		BaseEndpoint:     aws.String("http://" + os.Getenv("CLIENTS_SQS")),
		RetryMaxAttempts: 1,
	})
	b := &bench{T: t, Client: client, ctx: ctx}
	b.url = b.create(fmt.Sprintf("go-%d%s", time.Now().UnixNano(), suffix), attributes)
	return b
}

func (b *bench) create(name string, attributes map[string]string) *string {
	b.Helper()
	made, err := b.CreateQueue(b.ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	b.must(err)
	b.Cleanup(func() {
		b.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: made.QueueUrl})
	})
	return made.QueueUrl
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) send(body string) *sqs.SendMessageOutput {
	b.Helper()
	sent, err := b.SendMessage(b.ctx, &sqs.SendMessageInput{QueueUrl: b.url, MessageBody: &body})
	b.must(err)
	return sent
}

// receive waits for at least one message, and fails when none comes.
func (b *bench) receive(input sqs.ReceiveMessageInput) []types.Message {
	b.Helper()
	if input.QueueUrl == nil {
		input.QueueUrl = b.url
	}
	input.WaitTimeSeconds = 20
	input.MessageSystemAttributeNames = []types.MessageSystemAttributeName{"All"}
	input.MessageAttributeNames = []string{"All"}
	got, err := b.ReceiveMessage(b.ctx, &input)
	b.must(err)
	if len(got.Messages) == 0 {
		b.Fatal("no message came")
	}
	return got.Messages
}

func (b *bench) empty() {
	b.Helper()
	got, err := b.ReceiveMessage(b.ctx, &sqs.ReceiveMessageInput{QueueUrl: b.url})
	b.must(err)
	if len(got.Messages) > 0 {
		b.Fatalf("a message is visible: %s", *got.Messages[0].Body)
	}
}

func (b *bench) remove(message types.Message) {
	b.Helper()
	input := sqs.DeleteMessageInput{QueueUrl: b.url, ReceiptHandle: message.ReceiptHandle}
	_, err := b.DeleteMessage(b.ctx, &input)
	b.must(err)
}

// left fails unless the queue holds so many messages, whatever their state.
func (b *bench) left(wanted int) {
	b.Helper()
	asked, err := b.GetQueueAttributes(b.ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: b.url,
		AttributeNames: []types.QueueAttributeName{
			"ApproximateNumberOfMessages",
			"ApproximateNumberOfMessagesNotVisible",
			"ApproximateNumberOfMessagesDelayed",
		},
	})
	b.must(err)
	sum := 0
	for _, text := range asked.Attributes {
		var number int
		_, err := fmt.Sscan(text, &number)
		b.must(err)
		sum += number
	}
	if len(asked.Attributes) != 3 || sum != wanted {
		b.Fatalf("the queue holds %v, want %d", asked.Attributes, wanted)
	}
}

func TestBodiesComeBackExactlyAsSent(t *testing.T) {
	bodies := []string{"plain", "žluť 日本語 🦀", "<&>\"'\r\n\t", strings.Repeat("x", 1<<20)}
	for _, body := range bodies {
		b := start(t, "", nil)
		sent := b.send(body)
		message := b.receive(sqs.ReceiveMessageInput{})[0]
		if *message.Body != body || *message.MessageId != *sent.MessageId {
			t.Fatalf("got %.80q, want %.80q", *message.Body, body)
		}
		b.remove(message)
		b.left(0)
	}
}

func TestAttributesOfEveryTypeComeBack(t *testing.T) {
	b := start(t, "", nil)
	binary := make([]byte, 256)
	for n := range binary {
		binary[n] = byte(n)
	}
	value := func(kind, text string) types.MessageAttributeValue {
		return types.MessageAttributeValue{DataType: &kind, StringValue: &text}
	}
	_, err := b.SendMessage(b.ctx, &sqs.SendMessageInput{
		QueueUrl:    b.url,
		MessageBody: aws.String("x"),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"word":   value("String", "日本"),
			"number": value("Number", "4563442423554324324264524243.325"),
			"bytes":  {DataType: aws.String("Binary"), BinaryValue: binary},
		},
	})
	b.must(err)
	message := b.receive(sqs.ReceiveMessageInput{})[0]
	got := message.MessageAttributes
	if len(got) != 3 || *got["word"].StringValue != "日本" ||
		*got["number"].StringValue != "4563442423554324324264524243.325" ||
		!bytes.Equal(got["bytes"].BinaryValue, binary) {
		t.Fatalf("got %v", got)
	}
	if message.Attributes["ApproximateReceiveCount"] != "1" || message.Attributes["SentTimestamp"] == "" {
		t.Fatalf("got %v", message.Attributes)
	}
}

func TestBatchesAreSentReceivedHiddenAndDeleted(t *testing.T) {
	b := start(t, "", nil)
	var bodies, seen []string
	var entries []types.SendMessageBatchRequestEntry
	for n := range 10 {
		body := fmt.Sprintf("body %d", n)
		bodies = append(bodies, body)
		entry := types.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(n)), MessageBody: &body}
		entries = append(entries, entry)
	}
	sent, err := b.SendMessageBatch(b.ctx, &sqs.SendMessageBatchInput{QueueUrl: b.url, Entries: entries})
	b.must(err)
	if len(sent.Successful) != 10 || len(sent.Failed) != 0 {
		t.Fatalf("got %v", sent)
	}
	var hide []types.ChangeMessageVisibilityBatchRequestEntry
	var remove []types.DeleteMessageBatchRequestEntry
	for len(seen) < 10 {
		for _, message := range b.receive(sqs.ReceiveMessageInput{MaxNumberOfMessages: 10}) {
			id, handle := aws.String(fmt.Sprint(len(seen))), message.ReceiptHandle
			seen = append(seen, *message.Body)
			hide = append(hide, types.ChangeMessageVisibilityBatchRequestEntry{
				Id: id, ReceiptHandle: handle, VisibilityTimeout: 60,
			})
			remove = append(remove, types.DeleteMessageBatchRequestEntry{Id: id, ReceiptHandle: handle})
		}
	}
	slices.Sort(seen)
	if !slices.Equal(seen, bodies) {
		t.Fatalf("got %v", seen)
	}
	hidden, err := b.ChangeMessageVisibilityBatch(b.ctx, &sqs.ChangeMessageVisibilityBatchInput{
		QueueUrl: b.url, Entries: hide,
	})
	b.must(err)
	b.empty()
	gone, err := b.DeleteMessageBatch(b.ctx, &sqs.DeleteMessageBatchInput{QueueUrl: b.url, Entries: remove})
	b.must(err)
	if len(hidden.Successful) != 10 || len(gone.Successful) != 10 {
		t.Fatalf("hidden %v, deleted %v", hidden, gone)
	}
	b.left(0)
}

func TestAMessageComesBackWhenItsVisibilityTimeoutEnds(t *testing.T) {
	b := start(t, "", map[string]string{"VisibilityTimeout": "2"})
	b.send("x")
	first := b.receive(sqs.ReceiveMessageInput{})[0]
	received := time.Now()
	b.empty()
	second := b.receive(sqs.ReceiveMessageInput{VisibilityTimeout: 60})[0]
	if waited := time.Since(received); waited < 1900*time.Millisecond || waited > 10*time.Second {
		t.Fatalf("it came back after %v", waited)
	}
	if *first.MessageId != *second.MessageId || second.Attributes["ApproximateReceiveCount"] != "2" {
		t.Fatalf("got %v", second.Attributes)
	}
	_, err := b.ChangeMessageVisibility(b.ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: b.url, ReceiptHandle: second.ReceiptHandle, VisibilityTimeout: 0,
	})
	b.must(err)
	b.remove(b.receive(sqs.ReceiveMessageInput{VisibilityTimeout: 60})[0])
	b.left(0)
}

func TestALongPollIsAnsweredAsSoonAsAMessageComes(t *testing.T) {
	b := start(t, "", nil)
	timer := time.AfterFunc(300*time.Millisecond, func() {
		b.SendMessage(b.ctx, &sqs.SendMessageInput{QueueUrl: b.url, MessageBody: aws.String("wake")})
	})
	defer timer.Stop()
	started := time.Now()
	message := b.receive(sqs.ReceiveMessageInput{})[0]
	if took := time.Since(started); *message.Body != "wake" || took > 5*time.Second {
		t.Fatalf("got %s after %v", *message.Body, took)
	}
}

func TestAFIFOQueueKeepsOrderAndRefusesRepetition(t *testing.T) {
	b := start(t, ".fifo", map[string]string{"FifoQueue": "true"})
	for _, body := range []string{"1", "2", "2", "3"} {
		_, err := b.SendMessage(b.ctx, &sqs.SendMessageInput{
			QueueUrl: b.url, MessageBody: &body,
			MessageGroupId: aws.String("g"), MessageDeduplicationId: &body,
		})
		b.must(err)
	}
	var bodies []string
	for _, message := range b.receive(sqs.ReceiveMessageInput{MaxNumberOfMessages: 10}) {
		bodies = append(bodies, *message.Body)
		b.remove(message)
	}
	if !slices.Equal(bodies, []string{"1", "2", "3"}) {
		t.Fatalf("got %v", bodies)
	}
	b.left(0)
}

func TestAPoisonousMessageEndsInTheDeadLetterQueue(t *testing.T) {
	b := start(t, "", nil)
	dead := b.create(fmt.Sprintf("go-dead-%d", time.Now().UnixNano()), nil)
	names := []types.QueueAttributeName{"QueueArn"}
	asked, err := b.GetQueueAttributes(b.ctx, &sqs.GetQueueAttributesInput{QueueUrl: dead, AttributeNames: names})
	b.must(err)
	policy := fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":2}`, asked.Attributes["QueueArn"])
	_, err = b.SetQueueAttributes(b.ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: b.url, Attributes: map[string]string{"RedrivePolicy": policy},
	})
	b.must(err)
	b.send("poison")
	for range 2 {
		message := b.receive(sqs.ReceiveMessageInput{})[0]
		_, err := b.ChangeMessageVisibility(b.ctx, &sqs.ChangeMessageVisibilityInput{
			QueueUrl: b.url, ReceiptHandle: message.ReceiptHandle, VisibilityTimeout: 0,
		})
		b.must(err)
	}
	b.empty()
	message := b.receive(sqs.ReceiveMessageInput{QueueUrl: dead})[0]
	if *message.Body != "poison" || message.Attributes["DeadLetterQueueSourceArn"] == "" {
		t.Fatalf("got %s, %v", *message.Body, message.Attributes)
	}
	b.left(0)
}

func TestAPaginatorSeesEveryQueueOnce(t *testing.T) {
	b := start(t, "", nil)
	prefix := fmt.Sprintf("go-pages-%d-", time.Now().UnixNano())
	var wanted, seen []string
	for n := range 5 {
		wanted = append(wanted, *b.create(fmt.Sprintf("%s%d", prefix, n), nil))
	}
	input := sqs.ListQueuesInput{QueueNamePrefix: &prefix, MaxResults: aws.Int32(2)}
	pages := sqs.NewListQueuesPaginator(b, &input)
	for pages.HasMorePages() {
		page, err := pages.NextPage(b.ctx)
		b.must(err)
		seen = append(seen, page.QueueUrls...)
	}
	slices.Sort(seen)
	if !slices.Equal(seen, wanted) {
		t.Fatalf("got %v, want %v", seen, wanted)
	}
}

func TestErrorsArriveAsTheTypesOfTheSDK(t *testing.T) {
	b := start(t, "", nil)
	_, err := b.GetQueueUrl(b.ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("absent")})
	var absent *types.QueueDoesNotExist
	if !errors.As(err, &absent) {
		t.Fatalf("got %v", err)
	}
	input := sqs.DeleteMessageInput{QueueUrl: b.url, ReceiptHandle: aws.String("forged")}
	_, err = b.DeleteMessage(b.ctx, &input)
	var forged *types.ReceiptHandleIsInvalid
	var status interface{ HTTPStatusCode() int }
	if !errors.As(err, &forged) || !errors.As(err, &status) || status.HTTPStatusCode() != http.StatusBadRequest {
		t.Fatalf("got %v", err)
	}
	_, err = b.SendMessage(b.ctx, &sqs.SendMessageInput{QueueUrl: b.url, MessageBody: aws.String("\x01")})
	var refused smithy.APIError
	if !errors.As(err, &refused) || !strings.Contains(refused.ErrorCode(), "InvalidMessageContents") {
		t.Fatalf("got %v", err)
	}
}
