//! The model's line of groups of a FIFO queue (S7.7).

use slipring::{MessageId, MessageState as State};

use super::naive::{Message, Model};

fn name(message: &Message) -> String {
    message.sent.group.clone().unwrap_or_default().to_string()
}

impl Model {
    /// What each group of a queue may give, in the order of the line.
    pub(super) fn line(&self, queue: usize) -> Vec<Vec<MessageId>> {
        let mut groups = Vec::new();
        for group in self.names(queue) {
            let mut all: Vec<_> = self.of(queue).filter(|m| name(m) == group).collect();
            all.retain(|message| message.state != State::Parked);
            all.sort_by_key(|message| message.nth);
            let first = (all[0].nth, 0);
            let served = self.served.get(&(queue, group)).copied().unwrap_or_default();
            let open = all.iter().take_while(|message| message.state == State::Ready);
            let ids: Vec<_> = open.map(|message| message.id).collect();
            if !ids.is_empty() {
                groups.push((served.max(first), ids));
            }
        }
        groups.sort();
        groups.into_iter().map(|(_, ids)| ids).collect()
    }

    /// The groups that have a place in the line.
    fn names(&self, queue: usize) -> Vec<String> {
        let with_place = self.of(queue).filter(|message| message.state != State::Parked);
        let mut names: Vec<_> = with_place.map(name).collect();
        names.sort();
        names.dedup();
        names
    }

    /// What one receive of a FIFO queue gets.
    pub(super) fn choose_in_line(&self, queue: usize, up_to: usize) -> Vec<MessageId> {
        let mut chosen = Vec::new();
        for group in self.line(queue).into_iter().take(up_to) {
            for id in group {
                if chosen.len() == up_to.min(self.room(queue)) {
                    return chosen;
                }
                let attempts = self.find(id).expect("the model has it").attempts;
                let most = self.settings[queue].max_attempts;
                if attempts > 0 && most.is_some_and(|most| attempts + 1 >= most) {
                    if chosen.is_empty() {
                        return vec![id];
                    }
                    break;
                }
                chosen.push(id);
            }
        }
        chosen
    }

    /// Sends the groups that gave something to the back of the line.
    pub(super) fn serve(&mut self, queue: usize, given: &[MessageId]) {
        for id in given {
            let group = name(self.find(*id).expect("the model has it"));
            let turn = self.served.values().map(|(_, turn)| turn + 1).max().unwrap_or(1);
            self.served.insert((queue, group), (self.sent_count, turn));
        }
    }

    /// Forgets the place of groups of which nothing is left.
    pub(super) fn forget_places(&mut self) {
        let places = [self.names(0), self.names(1)];
        self.served.retain(|(queue, group), _| places[*queue].contains(group));
    }
}
