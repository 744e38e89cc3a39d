//! Redrive of chosen messages, one by one.

use slipring::admin::{no_way_back, not_free};
use slipring::{ChosenMove, Durability, Error, MessageId, MessageState, QueueId};

use crate::bulk::{STEP_MESSAGES_MAX, check_ends};
use crate::claim::no_lane;
use crate::fault::{Fault, Outcome, gone};
use crate::picture::Picture;
use crate::position::lane_of;
use crate::room::Room;
use crate::rows::Leaving;
use crate::settle::as_new;
use crate::writer::{Shared, Writer};

impl Writer<'_> {
    /// Moves chosen messages from a place in the list on, as far as a step goes; answers one by
    /// one.
    pub(crate) fn move_chosen(
        &mut self,
        request: &ChosenMove,
        from: usize,
    ) -> Outcome<Vec<Result<QueueId, Error>>> {
        let source = self.live(request.source)?;
        check_ends(&source, request.target)?;
        let target = request.target.map(|target| self.live(target)).transpose()?;
        self.promise(Durability::Full);
        let source = &mut *source.lock();
        let mut room = Room::new(u64::from(STEP_MESSAGES_MAX));
        let mut answers = Vec::new();
        for message in request.messages.iter().skip(from) {
            if !room.is_left() {
                break;
            }
            answers.push(match self.move_one(source, target.as_ref(), *message, &mut room) {
                Ok(target) => Ok(target),
                Err(Fault::Refused(error)) => Err(error),
                Err(fault) => return Err(fault),
            });
        }
        Ok(answers)
    }

    fn move_one(
        &mut self,
        source: &mut Picture,
        target: Option<&Shared>,
        message: MessageId,
        room: &mut Room,
    ) -> Outcome<QueueId> {
        let Some(mut head) = self.item_head(message.0)? else {
            return self.move_from_log(source, target, message, room);
        };
        // What is refused was looked at all the same.
        room.take(0);
        if head.queue != source.id() {
            return Err(gone(message).into());
        }
        if !matches!(head.state, MessageState::Ready | MessageState::Parked) {
            return Err(not_free(message, head.state).into());
        }
        let target = match (target, &head.source) {
            (Some(target), _) => Some(Shared::clone(target)),
            (None, Some(name)) => {
                let back = self.queue_named(name)?.filter(|id| *id != source.id());
                back.map_or(Ok(None), |id| self.picture(id))?
            }
            (None, None) => None,
        };
        let homeless = || Fault::Refused(no_way_back(message, head.source.as_ref()));
        let target = target.ok_or_else(homeless)?;
        let target = &mut *target.lock();
        room.take(head.bytes);
        self.move_item(source, target, &mut head, as_new)?;
        Ok(target.id())
    }

    fn move_from_log(
        &mut self,
        source: &mut Picture,
        target: Option<&Shared>,
        message: MessageId,
        room: &mut Room,
    ) -> Outcome<QueueId> {
        let bytes = match self.free_in_log(source, message) {
            Err(Fault::Refused(error)) if error.kind() == slipring::ErrorKind::WrongState => {
                return Err(not_free(message, MessageState::Leased).into());
            }
            bytes => bytes?,
        };
        let target = target.ok_or_else(|| Fault::Refused(no_way_back(message, None)))?;
        let target = &mut *target.lock();
        self.note(source);
        let lane = source.lane(lane_of(message.0)).ok_or_else(|| no_lane(message.0))?;
        lane.cut_out(bytes);
        let leaving = Leaving::fresh(lane.priority.unwrap_or_default());
        self.log_to_items(target, message.0..message.0 + 1, bytes, &leaving)?;
        room.take(bytes);
        Ok(target.id())
    }
}
