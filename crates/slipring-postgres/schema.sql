-- The schema that migrations and functions make, as the catalogue tells it: tables, sequences and
-- constraints, indexes, signatures of functions. Written by the test `schema`; not to be run.

TABLE ack PARTITION BY LIST (slot)
  slot integer NOT NULL
  queue_id integer NOT NULL
  id bigint NOT NULL
  message_id bigint NOT NULL
  fence bigint NOT NULL
  ids int8multirange

TABLE ack_0 OF slipring.ack FOR VALUES IN (0) WITH (autovacuum_enabled=false)

TABLE ack_1 OF slipring.ack FOR VALUES IN (1) WITH (autovacuum_enabled=false)

TABLE ack_2 OF slipring.ack FOR VALUES IN (2) WITH (autovacuum_enabled=false)
SEQUENCE activity_0
SEQUENCE activity_1
SEQUENCE activity_10
SEQUENCE activity_11
SEQUENCE activity_12
SEQUENCE activity_13
SEQUENCE activity_14
SEQUENCE activity_15
SEQUENCE activity_2
SEQUENCE activity_3
SEQUENCE activity_4
SEQUENCE activity_5
SEQUENCE activity_6
SEQUENCE activity_7
SEQUENCE activity_8
SEQUENCE activity_9

TABLE aside
  aside_id bigint NOT NULL IDENTITY
  queue_id integer NOT NULL
  queue text NOT NULL
  kind text NOT NULL
  why text NOT NULL
  messages bigint NOT NULL
  kept jsonb NOT NULL
  at timestamp with time zone NOT NULL DEFAULT clock_timestamp()
  CONSTRAINT aside_pkey PRIMARY KEY (aside_id)
SEQUENCE aside_aside_id_seq

TABLE dedup PARTITION BY LIST (slot)
  slot integer NOT NULL
  queue_id integer NOT NULL
  scope text NOT NULL
  dedup_id text NOT NULL
  round integer NOT NULL
  message_id bigint NOT NULL
  until_ms bigint NOT NULL
  sent_ms bigint NOT NULL DEFAULT 0

TABLE dedup_0 OF slipring.dedup FOR VALUES IN (0) WITH (autovacuum_enabled=false)

TABLE dedup_1 OF slipring.dedup FOR VALUES IN (1) WITH (autovacuum_enabled=false)

TABLE dedup_2 OF slipring.dedup FOR VALUES IN (2) WITH (autovacuum_enabled=false)
SEQUENCE dedup_low
SEQUENCE dedup_mark
SEQUENCE dedup_now
SEQUENCE dedup_settled
SEQUENCE dedup_since

TABLE fifo_group PARTITION BY LIST (slot)
  slot integer NOT NULL
  queue_id integer NOT NULL
  name text NOT NULL
  seq bigint NOT NULL
  entry bigint NOT NULL
  low_id bigint
  served bigint NOT NULL DEFAULT 0
  turn bigint

TABLE fifo_group_0 OF slipring.fifo_group FOR VALUES IN (0) WITH (autovacuum_enabled=false)

TABLE fifo_group_1 OF slipring.fifo_group FOR VALUES IN (1) WITH (autovacuum_enabled=false)

TABLE fifo_group_2 OF slipring.fifo_group FOR VALUES IN (2) WITH (autovacuum_enabled=false)

TABLE fifo_touched PARTITION BY LIST (slot)
  slot integer NOT NULL
  queue_id integer NOT NULL
  name text NOT NULL
  id bigint NOT NULL
  entry bigint NOT NULL

TABLE fifo_touched_0 OF slipring.fifo_touched FOR VALUES IN (0) WITH (autovacuum_enabled=false)

TABLE fifo_touched_1 OF slipring.fifo_touched FOR VALUES IN (1) WITH (autovacuum_enabled=false)

TABLE fifo_touched_2 OF slipring.fifo_touched FOR VALUES IN (2) WITH (autovacuum_enabled=false)

TABLE grantee
  role text NOT NULL
  kind text NOT NULL
  queue_id integer NOT NULL DEFAULT 0
  role_id oid NOT NULL DEFAULT 0
  CONSTRAINT grantee_kind_check CHECK ((kind = ANY (ARRAY['producer'::text, 'consumer'::text, 'admin'::text])))
  CONSTRAINT grantee_pkey PRIMARY KEY (queue_id, kind, role_id)

TABLE incarnation UNLOGGED
  id integer NOT NULL DEFAULT 1
  token text NOT NULL
  CONSTRAINT incarnation_id_check CHECK ((id = 1))
  CONSTRAINT incarnation_pkey PRIMARY KEY (id)

TABLE item_body PARTITION BY LIST (slot)
  slot integer NOT NULL
  id bigint NOT NULL
  group_name text
  dedup_id text
  headers text
  body bytea NOT NULL

TABLE item_body_0 OF slipring.item_body FOR VALUES IN (0) WITH (autovacuum_enabled=false)

TABLE item_body_1 OF slipring.item_body FOR VALUES IN (1) WITH (autovacuum_enabled=false)

TABLE item_body_2 OF slipring.item_body FOR VALUES IN (2) WITH (autovacuum_enabled=false)

TABLE item_picture PARTITION BY LIST (slot)
  slot integer NOT NULL
  id bigint NOT NULL
  seq bigint NOT NULL
  entry bigint NOT NULL
  queue_id integer NOT NULL
  state smallint NOT NULL
  turn bigint NOT NULL
  priority bigint NOT NULL
  sent_ms bigint NOT NULL
  attempts bigint NOT NULL
  fence bigint NOT NULL
  first_received_ms bigint
  delay_ms bigint NOT NULL
  lease_ms bigint
  holder bigint
  bytes integer NOT NULL
  fifo_group text
  source text
  earlier bigint NOT NULL DEFAULT 0
  failures jsonb
  CONSTRAINT item_picture_state_check CHECK (((state >= 0) AND (state <= 4)))

TABLE item_picture_0 OF slipring.item_picture FOR VALUES IN (0) WITH (autovacuum_enabled=false)

TABLE item_picture_1 OF slipring.item_picture FOR VALUES IN (1) WITH (autovacuum_enabled=false)

TABLE item_picture_2 OF slipring.item_picture FOR VALUES IN (2) WITH (autovacuum_enabled=false)
SEQUENCE journal
SEQUENCE journal_low
SEQUENCE journal_mark
SEQUENCE journal_since

TABLE lease PARTITION BY LIST (slot)
  slot integer NOT NULL
  queue_id integer NOT NULL
  fence bigint NOT NULL
  part bigint NOT NULL
  seq bigint NOT NULL
  lane bigint NOT NULL
  deadline_ms bigint NOT NULL
  leased_ms bigint NOT NULL
  holder bigint
  n bigint NOT NULL
  bytes bigint NOT NULL
  bytes_each bigint
  open int8multirange NOT NULL
  CONSTRAINT taken_fold TRIGGER DEFERRABLE INITIALLY DEFERRED

TABLE lease_0 OF slipring.lease FOR VALUES IN (0) WITH (autovacuum_enabled=false)

TABLE lease_1 OF slipring.lease FOR VALUES IN (1) WITH (autovacuum_enabled=false)

TABLE lease_2 OF slipring.lease FOR VALUES IN (2) WITH (autovacuum_enabled=false)

TABLE load
  load_id integer NOT NULL IDENTITY
  queue_id integer NOT NULL
  published boolean NOT NULL DEFAULT false
  begun_ms bigint NOT NULL
  touched_ms bigint NOT NULL
  parts bigint NOT NULL DEFAULT 0
  messages bigint NOT NULL DEFAULT 0
  bytes bigint NOT NULL DEFAULT 0
  CONSTRAINT load_pkey PRIMARY KEY (load_id)

TABLE load_block
  load_id integer NOT NULL
  block bigint NOT NULL
  base bigint
  CONSTRAINT load_block_pkey PRIMARY KEY (load_id, block)
SEQUENCE load_load_id_seq

TABLE load_part
  load_id integer NOT NULL
  part bigint NOT NULL
  messages integer NOT NULL
  bytes bigint NOT NULL
  checksum bigint NOT NULL
  appended_ms bigint NOT NULL
  lanes bigint[] NOT NULL
  counts bigint[] NOT NULL
  sizes bigint[] NOT NULL
  CONSTRAINT load_part_pkey PRIMARY KEY (load_id, part)
SEQUENCE load_reserving_0
SEQUENCE load_reserving_1
SEQUENCE load_reserving_10
SEQUENCE load_reserving_11
SEQUENCE load_reserving_12
SEQUENCE load_reserving_13
SEQUENCE load_reserving_14
SEQUENCE load_reserving_15
SEQUENCE load_reserving_2
SEQUENCE load_reserving_3
SEQUENCE load_reserving_4
SEQUENCE load_reserving_5
SEQUENCE load_reserving_6
SEQUENCE load_reserving_7
SEQUENCE load_reserving_8
SEQUENCE load_reserving_9

TABLE lock_row
  queue_id integer NOT NULL
  kind smallint NOT NULL
  CONSTRAINT lock_row_pkey PRIMARY KEY (queue_id, kind)

TABLE mark PARTITION BY LIST (slot)
  slot integer NOT NULL
  queue_id integer NOT NULL
  kind smallint NOT NULL
  seq bigint NOT NULL
  turn bigint NOT NULL
  id bigint NOT NULL
  unseen int8multirange NOT NULL

TABLE mark_0 OF slipring.mark FOR VALUES IN (0) WITH (autovacuum_enabled=false)

TABLE mark_1 OF slipring.mark FOR VALUES IN (1) WITH (autovacuum_enabled=false)

TABLE mark_2 OF slipring.mark FOR VALUES IN (2) WITH (autovacuum_enabled=false)

TABLE message PARTITION BY LIST (place)
  id bigint NOT NULL
  lane bigint NOT NULL
  sent_ms bigint NOT NULL
  place integer NOT NULL
  bytes integer NOT NULL
  n smallint
  bytes_each integer
  priority bigint
  lease_ms bigint
  group_name text
  dedup_id text
  headers text
  body bytea NOT NULL

TABLE migration
  version integer NOT NULL
  name text NOT NULL
  applied_at timestamp with time zone NOT NULL DEFAULT now()
  CONSTRAINT migration_pkey PRIMARY KEY (version)
SEQUENCE numbers_0 UNLOGGED
SEQUENCE numbers_1 UNLOGGED
SEQUENCE numbers_10 UNLOGGED
SEQUENCE numbers_11 UNLOGGED
SEQUENCE numbers_12 UNLOGGED
SEQUENCE numbers_13 UNLOGGED
SEQUENCE numbers_14 UNLOGGED
SEQUENCE numbers_15 UNLOGGED
SEQUENCE numbers_16 UNLOGGED
SEQUENCE numbers_17 UNLOGGED
SEQUENCE numbers_18 UNLOGGED
SEQUENCE numbers_19 UNLOGGED
SEQUENCE numbers_2 UNLOGGED
SEQUENCE numbers_20 UNLOGGED
SEQUENCE numbers_21 UNLOGGED
SEQUENCE numbers_22 UNLOGGED
SEQUENCE numbers_23 UNLOGGED
SEQUENCE numbers_24 UNLOGGED
SEQUENCE numbers_25 UNLOGGED
SEQUENCE numbers_26 UNLOGGED
SEQUENCE numbers_27 UNLOGGED
SEQUENCE numbers_28 UNLOGGED
SEQUENCE numbers_29 UNLOGGED
SEQUENCE numbers_3 UNLOGGED
SEQUENCE numbers_30 UNLOGGED
SEQUENCE numbers_31 UNLOGGED
SEQUENCE numbers_32 UNLOGGED
SEQUENCE numbers_33 UNLOGGED
SEQUENCE numbers_34 UNLOGGED
SEQUENCE numbers_35 UNLOGGED
SEQUENCE numbers_36 UNLOGGED
SEQUENCE numbers_37 UNLOGGED
SEQUENCE numbers_38 UNLOGGED
SEQUENCE numbers_39 UNLOGGED
SEQUENCE numbers_4 UNLOGGED
SEQUENCE numbers_40 UNLOGGED
SEQUENCE numbers_41 UNLOGGED
SEQUENCE numbers_42 UNLOGGED
SEQUENCE numbers_43 UNLOGGED
SEQUENCE numbers_44 UNLOGGED
SEQUENCE numbers_45 UNLOGGED
SEQUENCE numbers_46 UNLOGGED
SEQUENCE numbers_47 UNLOGGED
SEQUENCE numbers_48 UNLOGGED
SEQUENCE numbers_49 UNLOGGED
SEQUENCE numbers_5 UNLOGGED
SEQUENCE numbers_50 UNLOGGED
SEQUENCE numbers_51 UNLOGGED
SEQUENCE numbers_52 UNLOGGED
SEQUENCE numbers_53 UNLOGGED
SEQUENCE numbers_54 UNLOGGED
SEQUENCE numbers_55 UNLOGGED
SEQUENCE numbers_56 UNLOGGED
SEQUENCE numbers_57 UNLOGGED
SEQUENCE numbers_58 UNLOGGED
SEQUENCE numbers_59 UNLOGGED
SEQUENCE numbers_6 UNLOGGED
SEQUENCE numbers_60 UNLOGGED
SEQUENCE numbers_61 UNLOGGED
SEQUENCE numbers_62 UNLOGGED
SEQUENCE numbers_63 UNLOGGED
SEQUENCE numbers_7 UNLOGGED
SEQUENCE numbers_8 UNLOGGED
SEQUENCE numbers_9 UNLOGGED

TABLE offer PARTITION BY LIST (slot)
  slot integer NOT NULL
  queue_id integer NOT NULL
  first bigint NOT NULL
  past bigint NOT NULL
  made_ms bigint NOT NULL
  front_ms bigint NOT NULL
  tables text[] NOT NULL
  generation_low bigint NOT NULL
  lane bigint NOT NULL
  ready int8multirange NOT NULL
  ids bigint[] NOT NULL
  several boolean NOT NULL
  sizes integer[]
  reach bigint NOT NULL
  again bigint NOT NULL
  again_next bigint NOT NULL

TABLE offer_0 OF slipring.offer FOR VALUES IN (0) WITH (autovacuum_enabled=false, toast_tuple_target=8160)

TABLE offer_1 OF slipring.offer FOR VALUES IN (1) WITH (autovacuum_enabled=false, toast_tuple_target=8160)

TABLE offer_2 OF slipring.offer FOR VALUES IN (2) WITH (autovacuum_enabled=false, toast_tuple_target=8160)
SEQUENCE older_acks

TABLE place
  place integer NOT NULL IDENTITY
  queue_id integer
  mark bigint
  empty boolean NOT NULL DEFAULT false
  generation text
  endings text
  lock_view text
  shared boolean NOT NULL DEFAULT false
  queues integer NOT NULL DEFAULT 0
  reserved boolean NOT NULL DEFAULT false
  CONSTRAINT place_pkey PRIMARY KEY (place)

TABLE place_move
  queue_id integer NOT NULL
  place_from integer NOT NULL
  place_to integer
  step smallint NOT NULL DEFAULT 0
  since_ms bigint NOT NULL DEFAULT 0
  waits text[]
  mark bigint
  CONSTRAINT place_move_pkey PRIMARY KEY (queue_id)
SEQUENCE place_place_seq

TABLE place_rotation
  place integer NOT NULL
  since_ms bigint NOT NULL
  generation bigint NOT NULL DEFAULT 0
  mark bigint
  passed integer NOT NULL DEFAULT 0
  CONSTRAINT place_rotation_pkey PRIMARY KEY (place)
  CONSTRAINT place_rotation_place_fkey FOREIGN KEY (place) REFERENCES slipring.place(place)

TABLE queue WITH (fillfactor=50)
  queue_id integer NOT NULL IDENTITY
  name text NOT NULL
  settings jsonb NOT NULL
  created_ms bigint NOT NULL
  modified_ms bigint NOT NULL
  xid_base bigint NOT NULL
  place integer NOT NULL
  generation regclass NOT NULL
  endings regclass
  activity regclass NOT NULL
  lanes bigint[] NOT NULL
  visibility_timeout_ms bigint NOT NULL
  max_attempts bigint
  backoff_kind text NOT NULL
  backoff_base_ms bigint NOT NULL
  backoff_max_ms bigint NOT NULL
  dead_letter text
  retention_ms bigint
  delay_ms bigint NOT NULL
  relaxed boolean NOT NULL
  fifo boolean NOT NULL
  dedup_window_ms bigint NOT NULL
  dedup_by_group boolean NOT NULL
  paused boolean NOT NULL
  paused_until_ms bigint
  pause_over boolean NOT NULL DEFAULT false
  messages_max bigint
  bytes_max bigint
  message_bytes_max bigint NOT NULL
  in_flight_max bigint NOT NULL
  ids_ended int8multirange
  ids_until_ms bigint
  lock_key bigint NOT NULL
  written_at timestamp with time zone NOT NULL DEFAULT now()
  home_at timestamp with time zone DEFAULT slipring.moment_now(written_at)
  lane_base bigint NOT NULL DEFAULT 0
  generation_low regclass
  place_also integer
  purging boolean NOT NULL DEFAULT false
  CONSTRAINT queue_pkey PRIMARY KEY (queue_id)
  CONSTRAINT queue_place_fkey FOREIGN KEY (place) REFERENCES slipring.place(place)
  TRIGGER queue_changed AFTER INSERT OR DELETE OR UPDATE OF modified_ms FOR EACH STATEMENT EXECUTE FUNCTION slipring.queue_changed()
SEQUENCE queue_changes
SEQUENCE queue_queue_id_seq
SEQUENCE shelf
SEQUENCE shelf_kept
SEQUENCE shelf_low
SEQUENCE shelf_mark
SEQUENCE shelf_since

TABLE state PARTITION BY LIST (slot)
  slot integer NOT NULL
  queue_id integer NOT NULL
  seq bigint NOT NULL
  fence bigint NOT NULL
  lanes bigint[] NOT NULL
  open int8multirange[] NOT NULL
  counted bigint[] NOT NULL
  counted_bytes bigint[] NOT NULL
  uncounted int8multirange NOT NULL
  acks int8multirange NOT NULL
  leased bigint NOT NULL
  leased_bytes bigint NOT NULL
  lapse_ms bigint
  generation_low bigint NOT NULL
  generation_mark bigint
  generation_since_ms bigint NOT NULL
  journal bigint NOT NULL
  passed_over integer NOT NULL DEFAULT 0
  taken int8multirange
  taken_journal bigint
  apart int8multirange[]

TABLE state_0 OF slipring.state FOR VALUES IN (0) WITH (autovacuum_enabled=false)

TABLE state_1 OF slipring.state FOR VALUES IN (1) WITH (autovacuum_enabled=false)

TABLE state_2 OF slipring.state FOR VALUES IN (2) WITH (autovacuum_enabled=false)

TABLE store
  id integer NOT NULL DEFAULT 1
  receipt_key bytea NOT NULL
  xid_base bigint NOT NULL DEFAULT 0
  system_identifier bigint
  written_at timestamp with time zone NOT NULL DEFAULT now()
  home_at timestamp with time zone DEFAULT slipring.moment_now(written_at)
  own_tables_max integer NOT NULL DEFAULT 256
  grown_tables_max integer NOT NULL DEFAULT 256
  CONSTRAINT store_grown_tables_max_check CHECK ((grown_tables_max >= 0))
  CONSTRAINT store_id_check CHECK ((id = 1))
  CONSTRAINT store_own_tables_max_check CHECK ((own_tables_max >= 0))
  CONSTRAINT store_pkey PRIMARY KEY (id)
  CONSTRAINT store_receipt_key_check CHECK ((octet_length(receipt_key) = 32))
SEQUENCE taken_asked
SEQUENCE taken_asked_0
SEQUENCE taken_asked_1
SEQUENCE taken_asked_10
SEQUENCE taken_asked_11
SEQUENCE taken_asked_12
SEQUENCE taken_asked_13
SEQUENCE taken_asked_14
SEQUENCE taken_asked_15
SEQUENCE taken_asked_16
SEQUENCE taken_asked_17
SEQUENCE taken_asked_18
SEQUENCE taken_asked_19
SEQUENCE taken_asked_2
SEQUENCE taken_asked_20
SEQUENCE taken_asked_21
SEQUENCE taken_asked_22
SEQUENCE taken_asked_23
SEQUENCE taken_asked_24
SEQUENCE taken_asked_25
SEQUENCE taken_asked_26
SEQUENCE taken_asked_27
SEQUENCE taken_asked_28
SEQUENCE taken_asked_29
SEQUENCE taken_asked_3
SEQUENCE taken_asked_30
SEQUENCE taken_asked_31
SEQUENCE taken_asked_32
SEQUENCE taken_asked_33
SEQUENCE taken_asked_34
SEQUENCE taken_asked_35
SEQUENCE taken_asked_36
SEQUENCE taken_asked_37
SEQUENCE taken_asked_38
SEQUENCE taken_asked_39
SEQUENCE taken_asked_4
SEQUENCE taken_asked_40
SEQUENCE taken_asked_41
SEQUENCE taken_asked_42
SEQUENCE taken_asked_43
SEQUENCE taken_asked_44
SEQUENCE taken_asked_45
SEQUENCE taken_asked_46
SEQUENCE taken_asked_47
SEQUENCE taken_asked_48
SEQUENCE taken_asked_49
SEQUENCE taken_asked_5
SEQUENCE taken_asked_50
SEQUENCE taken_asked_51
SEQUENCE taken_asked_52
SEQUENCE taken_asked_53
SEQUENCE taken_asked_54
SEQUENCE taken_asked_55
SEQUENCE taken_asked_56
SEQUENCE taken_asked_57
SEQUENCE taken_asked_58
SEQUENCE taken_asked_59
SEQUENCE taken_asked_6
SEQUENCE taken_asked_60
SEQUENCE taken_asked_61
SEQUENCE taken_asked_62
SEQUENCE taken_asked_63
SEQUENCE taken_asked_7
SEQUENCE taken_asked_8
SEQUENCE taken_asked_9

TABLE tally PARTITION BY LIST (slot)
  slot integer NOT NULL
  queue_id integer NOT NULL
  entry bigint NOT NULL
  ready bigint NOT NULL
  urgent bigint NOT NULL
  delayed bigint NOT NULL
  leased bigint NOT NULL
  parked bigint NOT NULL
  bytes bigint NOT NULL

TABLE tally_0 OF slipring.tally FOR VALUES IN (0) WITH (autovacuum_enabled=false)

TABLE tally_1 OF slipring.tally FOR VALUES IN (1) WITH (autovacuum_enabled=false)

TABLE tally_2 OF slipring.tally FOR VALUES IN (2) WITH (autovacuum_enabled=false)

TABLE tally_sum PARTITION BY LIST (slot)
  slot integer NOT NULL
  queue_id integer NOT NULL
  seq bigint NOT NULL
  ready bigint NOT NULL
  urgent bigint NOT NULL
  delayed bigint NOT NULL
  leased bigint NOT NULL
  parked bigint NOT NULL
  bytes bigint NOT NULL
  unseen int8multirange NOT NULL

TABLE tally_sum_0 OF slipring.tally_sum FOR VALUES IN (0) WITH (autovacuum_enabled=false)

TABLE tally_sum_1 OF slipring.tally_sum FOR VALUES IN (1) WITH (autovacuum_enabled=false)

TABLE tally_sum_2 OF slipring.tally_sum FOR VALUES IN (2) WITH (autovacuum_enabled=false)
SEQUENCE ticket_0
SEQUENCE ticket_1
SEQUENCE ticket_10
SEQUENCE ticket_11
SEQUENCE ticket_12
SEQUENCE ticket_13
SEQUENCE ticket_14
SEQUENCE ticket_15
SEQUENCE ticket_16
SEQUENCE ticket_17
SEQUENCE ticket_18
SEQUENCE ticket_19
SEQUENCE ticket_2
SEQUENCE ticket_20
SEQUENCE ticket_21
SEQUENCE ticket_22
SEQUENCE ticket_23
SEQUENCE ticket_24
SEQUENCE ticket_25
SEQUENCE ticket_26
SEQUENCE ticket_27
SEQUENCE ticket_28
SEQUENCE ticket_29
SEQUENCE ticket_3
SEQUENCE ticket_30
SEQUENCE ticket_31
SEQUENCE ticket_32
SEQUENCE ticket_33
SEQUENCE ticket_34
SEQUENCE ticket_35
SEQUENCE ticket_36
SEQUENCE ticket_37
SEQUENCE ticket_38
SEQUENCE ticket_39
SEQUENCE ticket_4
SEQUENCE ticket_40
SEQUENCE ticket_41
SEQUENCE ticket_42
SEQUENCE ticket_43
SEQUENCE ticket_44
SEQUENCE ticket_45
SEQUENCE ticket_46
SEQUENCE ticket_47
SEQUENCE ticket_48
SEQUENCE ticket_49
SEQUENCE ticket_5
SEQUENCE ticket_50
SEQUENCE ticket_51
SEQUENCE ticket_52
SEQUENCE ticket_53
SEQUENCE ticket_54
SEQUENCE ticket_55
SEQUENCE ticket_56
SEQUENCE ticket_57
SEQUENCE ticket_58
SEQUENCE ticket_59
SEQUENCE ticket_6
SEQUENCE ticket_60
SEQUENCE ticket_61
SEQUENCE ticket_62
SEQUENCE ticket_63
SEQUENCE ticket_7
SEQUENCE ticket_8
SEQUENCE ticket_9
CREATE INDEX ack_queue ON ONLY slipring.ack USING btree (((queue_id * (2)::bigint)), id)
CREATE UNIQUE INDEX aside_pkey ON slipring.aside USING btree (aside_id)
CREATE INDEX aside_queue ON slipring.aside USING btree (queue_id)
CREATE INDEX dedup_until ON ONLY slipring.dedup USING btree (until_ms)
CREATE INDEX fifo_group_line ON ONLY slipring.fifo_group USING btree (((queue_id * (2)::bigint)), turn) WHERE ((turn + 0) IS NOT NULL)
CREATE INDEX fifo_group_name ON ONLY slipring.fifo_group USING btree (queue_id, name, seq)
CREATE INDEX fifo_group_new ON ONLY slipring.fifo_group USING btree (((queue_id * (4)::bigint)), entry) WHERE ((turn + 1) IS NOT NULL)
CREATE INDEX fifo_touched_queue ON ONLY slipring.fifo_touched USING btree (queue_id, entry)
CREATE UNIQUE INDEX grantee_pkey ON slipring.grantee USING btree (queue_id, kind, role_id)
CREATE UNIQUE INDEX incarnation_pkey ON slipring.incarnation USING btree (id)
CREATE INDEX item_body_id ON ONLY slipring.item_body USING btree (id)
CREATE INDEX item_group ON ONLY slipring.item_picture USING btree (queue_id, fifo_group, id) WHERE ((fifo_group IS NOT NULL) AND (state < 3))
CREATE INDEX item_holder ON ONLY slipring.item_picture USING btree (holder) WHERE (holder IS NOT NULL)
CREATE INDEX item_order ON ONLY slipring.item_picture USING btree ((((queue_id * (8)::bigint) + state)), turn, id) WHERE ((state + 0) < 4)
CREATE INDEX item_order_new ON ONLY slipring.item_picture USING btree ((((queue_id * (16)::bigint) + state)), entry) WHERE ((state + 1) < 5)
CREATE INDEX item_sent ON ONLY slipring.item_picture USING btree (((queue_id * (2)::bigint)), sent_ms, id) WHERE ((state + 2) < 6)
CREATE INDEX item_source ON ONLY slipring.item_picture USING btree (queue_id, source, state, turn, id) WHERE (source IS NOT NULL)
CREATE INDEX lease_deadline ON ONLY slipring.lease USING btree (((queue_id * (2)::bigint)), deadline_ms)
CREATE INDEX lease_holder ON ONLY slipring.lease USING btree (holder) WHERE (holder IS NOT NULL)
CREATE INDEX lease_newest ON ONLY slipring.lease USING btree (queue_id, fence, part, seq)
CREATE INDEX lease_several ON ONLY slipring.lease USING btree (((queue_id * (8)::bigint)), ((fence + 0))) WHERE (((seq + 0) = 0) AND ((n + 1) > 2))
CREATE INDEX lease_single ON ONLY slipring.lease USING btree (((queue_id * (4)::bigint)), upper(open)) WHERE (((seq + 0) = 0) AND ((n + 0) = 1))
CREATE UNIQUE INDEX load_pkey ON slipring.load USING btree (load_id)
CREATE INDEX load_queue ON slipring.load USING btree (queue_id)
CREATE UNIQUE INDEX load_block_pkey ON slipring.load_block USING btree (load_id, block)
CREATE UNIQUE INDEX load_part_pkey ON slipring.load_part USING btree (load_id, part)
CREATE UNIQUE INDEX lock_row_pkey ON slipring.lock_row USING btree (queue_id, kind)
CREATE INDEX mark_newest ON ONLY slipring.mark USING btree (queue_id, kind, seq)
CREATE UNIQUE INDEX migration_pkey ON slipring.migration USING btree (version)
CREATE INDEX offer_newest ON ONLY slipring.offer USING btree (queue_id, several, first)
CREATE INDEX place_free ON slipring.place USING btree (place) WHERE (queue_id IS NULL)
CREATE UNIQUE INDEX place_pkey ON slipring.place USING btree (place)
CREATE INDEX place_shared ON slipring.place USING btree (place) WHERE shared
CREATE UNIQUE INDEX place_move_pkey ON slipring.place_move USING btree (queue_id)
CREATE UNIQUE INDEX place_rotation_pkey ON slipring.place_rotation USING btree (place)
CREATE UNIQUE INDEX queue_name ON slipring.queue USING btree (name)
CREATE INDEX queue_own ON slipring.queue USING btree (queue_id) WHERE (generation_low IS NULL)
CREATE INDEX queue_pause ON slipring.queue USING btree (paused_until_ms) WHERE ((paused_until_ms IS NOT NULL) AND (NOT pause_over))
CREATE UNIQUE INDEX queue_pkey ON slipring.queue USING btree (queue_id)
CREATE INDEX queue_retention ON slipring.queue USING btree (queue_id) WHERE (retention_ms IS NOT NULL)
CREATE INDEX state_newest ON ONLY slipring.state USING btree (queue_id, seq)
CREATE UNIQUE INDEX store_pkey ON slipring.store USING btree (id)
CREATE INDEX tally_queue ON ONLY slipring.tally USING btree (queue_id, entry)
CREATE INDEX tally_sum_newest ON ONLY slipring.tally_sum USING btree (queue_id, seq)
FUNCTION ack(receipt text) RETURNS void SECURITY DEFINER
FUNCTION ack(receipts text[]) RETURNS bigint SECURITY DEFINER
FUNCTION ack_enter(p_queue integer, p_generation bigint, p_before bigint, p_messages bigint[], p_fences bigint[], p_whole bigint[], p_ids int8multirange[]) RETURNS bigint
FUNCTION ack_key(p_lock_key bigint, p_fence bigint) RETURNS bigint
FUNCTION ack_lease(p_receipts text[]) RETURNS bigint
FUNCTION ack_locks(p_queue slipring.queue, p_messages bigint[], p_fences bigint[]) RETURNS void
FUNCTION ack_many_key(p_lock_key bigint, p_n integer) RETURNS bigint
FUNCTION ack_many_none(p_lock_key bigint) RETURNS boolean
FUNCTION ack_older(p_queue slipring.queue) RETURNS bigint
FUNCTION ack_queue(p_queue integer, p_messages bigint[], p_fences bigint[]) RETURNS void
FUNCTION ack_refused(p_queue slipring.queue, p_message bigint, p_fence bigint) RETURNS void
FUNCTION ack_single(p_receipt text) RETURNS boolean
FUNCTION ack_whole(p_queue slipring.queue, p_messages bigint[], p_fences bigint[]) RETURNS TABLE(fence bigint, ids int8multirange)
FUNCTION ack_whole_open(p_queue integer, p_messages bigint[], p_fences bigint[]) RETURNS TABLE(fence bigint, ids int8multirange)
FUNCTION acked(p_message bigint, p_fence bigint) RETURNS boolean
FUNCTION acks_in(p_queue integer, p_ids int8multirange) RETURNS TABLE(message_id bigint, fence bigint)
FUNCTION acks_read(p_queue integer, p_ids int8multirange) RETURNS TABLE(id bigint, message_id bigint, fence bigint, ids int8multirange)
FUNCTION acks_take(p_queue slipring.queue, p_state slipring.state, p_now_ms bigint, p_most bigint DEFAULT NULL::bigint) RETURNS slipring.state
FUNCTION acks_turn(p_queue slipring.queue, p_now_ms bigint, p_began timestamp with time zone, OUT state slipring.state, OUT done boolean) RETURNS record
FUNCTION acks_wait(p_queue slipring.queue, p_state slipring.state) RETURNS boolean
FUNCTION administration_lock() RETURNS void
FUNCTION append_fits(p_queue slipring.queue, p_before bigint, p_first integer, p_last integer, p_bodies bytea[], p_groups text[], p_dedup_ids text[], p_headers text[], p_firsts bigint[], INOUT p_total bigint, INOUT p_bytes bigint, INOUT p_entered bigint[], OUT p_over jsonb) RETURNS record
FUNCTION append_plain(p_queue integer, p_now_ms bigint, p_bodies bytea[], p_priority bigint, p_delay_ms bigint, p_lease_ms bigint, p_ns integer[], p_eachs_bytes integer[]) RETURNS bigint
FUNCTION append_refused(p_queue slipring.queue, p_now_ms bigint, p_units integer[], p_bodies bytea[], p_groups text[], p_dedup_ids text[], p_headers text[], p_before bigint, p_firsts bigint[], p_busy jsonb[]) RETURNS jsonb[]
FUNCTION append_rows(p_queue slipring.queue, p_now_ms bigint, p_before bigint, p_bodies bytea[], p_priorities bigint[], p_delays_ms bigint[], p_leases_ms bigint[], p_groups text[], p_dedup_ids text[], p_headers text[], p_refused jsonb[], p_first bigint[]) RETURNS void
FUNCTION aside_acks(p_queue slipring.queue) RETURNS void
FUNCTION aside_caught(p_queue integer, p_now_ms bigint, p_state text, p_message text) RETURNS boolean
FUNCTION aside_identity(p_queue slipring.queue, p_table text) RETURNS boolean
FUNCTION aside_items(p_queue slipring.queue) RETURNS void
FUNCTION aside_lease_known(p_queue slipring.queue, p_state slipring.state, p_lease slipring.lease) RETURNS slipring.lease
FUNCTION aside_leases(p_queue slipring.queue, p_now_ms bigint) RETURNS void
FUNCTION aside_messages(p_queue slipring.queue) RETURNS void
FUNCTION aside_recount(p_queue slipring.queue) RETURNS void
FUNCTION aside_row(p_queue slipring.queue, p_kind text, p_why text, p_messages bigint, p_kept jsonb, p_table regclass, p_ctid tid) RETURNS void
FUNCTION aside_rows(p_queue slipring.queue, p_now_ms bigint) RETURNS TABLE(kind text, why text, messages bigint)
FUNCTION await(IN queue text, IN at_most interval DEFAULT '00:00:20'::interval) RETURNS 
FUNCTION backoff_ms(p_queue slipring.queue, p_attempts bigint, p_jitter double precision) RETURNS bigint
FUNCTION caller() RETURNS name
FUNCTION claim_beside(p_queue slipring.queue, p_state slipring.state, p_now_ms bigint, p_up_to integer[], p_lease_ms bigint[], p_session boolean[], p_holder bigint, p_ready bigint, p_differences bigint) RETURNS TABLE(demand integer, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, end_kind text, ids bigint[], sents_ms bigint[], bodies bytea[], groups text[], dedup_ids text[], headers_each text[], ns integer[], firsts bigint[], counts integer[], place bigint)
FUNCTION claim_feed(p_queue slipring.queue, p_state slipring.state, p_mark slipring.mark, p_done int8multirange, p_limit bigint) RETURNS slipring.feed
FUNCTION claim_fifo(p_queue slipring.queue, p_state slipring.state, p_now_ms bigint, p_up_to integer[], p_lease_ms bigint[], p_session boolean[], p_holder bigint) RETURNS TABLE(demand integer, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, end_kind text)
FUNCTION claim_fifo_choose(p_queue slipring.queue, p_most bigint, p_names text[], p_attempts bigint[], p_sizes integer[]) RETURNS integer[]
FUNCTION claim_first(p_from text, p_lane bigint, p_at integer, p_todo int8multirange) RETURNS slipring.lane_read
FUNCTION claim_fits(p_sizes integer[], p_most bigint, p_before bigint) RETURNS bigint
FUNCTION claim_given(p_feeds slipring.feed[], p_standings integer[]) RETURNS slipring.feed
FUNCTION claim_in_place(p_new slipring.feed, p_old slipring.feed) RETURNS slipring.feed
FUNCTION claim_lease(p_queue slipring.queue, p_state slipring.state, p_read slipring.lane_read, p_now_ms bigint, p_deadline_ms bigint, p_holder bigint) RETURNS slipring.state
FUNCTION claim_log(p_queue slipring.queue, p_state slipring.state, p_now_ms bigint, p_up_to integer[], p_lease_ms bigint[], p_session boolean[], p_holder bigint, p_leased bigint) RETURNS TABLE(demand integer, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, end_kind text)
FUNCTION claim_marks(p_marks slipring.mark[], p_done int8multirange, p_feeds slipring.feed[], p_limits bigint[], p_standings integer[], p_all boolean) RETURNS void
FUNCTION claim_mixed(p_queue slipring.queue, p_state slipring.state, p_now_ms bigint, p_up_to integer[], p_lease_ms bigint[], p_session boolean[], p_holder bigint, p_leased bigint) RETURNS TABLE(demand integer, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, end_kind text)
FUNCTION claim_one_by_one(p_queue slipring.queue, p_state slipring.state, p_now_ms bigint, p_up_to integer[], p_lease_ms bigint[], p_session boolean[], p_holder bigint, p_ready bigint, p_leased bigint) RETURNS TABLE(demand integer, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, end_kind text)
FUNCTION claim_pictures(p_mark slipring.mark, p_done int8multirange, p_limit bigint) RETURNS slipring.feed
FUNCTION claim_placed(p_queue slipring.queue, p_now_ms bigint, p_ids bigint[], p_places bigint[], p_fence bigint, p_lease_ms bigint[], p_session boolean[], p_holder bigint) RETURNS TABLE(demand integer, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, end_kind text, ids bigint[], sents_ms bigint[], bodies bytea[], groups text[], dedup_ids text[], headers_each text[], ns integer[], firsts bigint[], counts integer[], place bigint)
FUNCTION claim_places(p_queue slipring.queue, p_state slipring.state, p_done int8multirange, p_up_to bigint, p_most bigint, p_marks slipring.mark[], INOUT p_feeds slipring.feed[], INOUT p_limits bigint[], OUT reads slipring.lane_read[], OUT standings integer[], OUT ids bigint[], OUT places bigint[], OUT passed integer, OUT end_kind text) RETURNS record
FUNCTION claim_plain(p_queue slipring.queue, p_state slipring.state, p_now_ms bigint, p_up_to bigint, p_lease_ms bigint, p_holder bigint) RETURNS TABLE(fence bigint, deadline_ms bigint, priority bigint, lease_ms bigint, end_kind text, ids bigint[], sents_ms bigint[], bodies bytea[], groups text[], dedup_ids text[], headers_each text[], ns integer[], firsts bigint[], counts integer[])
FUNCTION claim_read(p_queue slipring.queue, p_state slipring.state, p_from text, p_at integer, p_todo int8multirange, p_up_to bigint, p_room bigint) RETURNS slipring.lane_read
FUNCTION claim_share(p_queue slipring.queue, p_up_to integer[], p_room bigint, p_passed integer, p_feeds slipring.feed[], OUT standings integer[], OUT demands integer[], OUT passed integer, OUT end_kind text) RETURNS record
FUNCTION claim_trim(p_read slipring.lane_read, p_ranges int8range[], p_up_to bigint) RETURNS slipring.lane_read
FUNCTION commit_defer(p_relaxed boolean) RETURNS text
FUNCTION commit_flushed() RETURNS void
FUNCTION commit_mode(p_relaxed boolean) RETURNS void
FUNCTION company(p_queue slipring.queue, p_attempts bigint, p_up_to bigint) RETURNS bigint
FUNCTION configure(queue text, changes jsonb) RETURNS jsonb SECURITY DEFINER
FUNCTION count_check(p_limit text, p_most integer, p_n integer, p_queue text DEFAULT NULL::text, p_argument text DEFAULT 'n'::text, p_load bigint DEFAULT NULL::bigint) RETURNS integer
FUNCTION create_queue(name text, settings jsonb DEFAULT NULL::jsonb) RETURNS boolean SECURITY DEFINER
FUNCTION cut(p_xid_base bigint) RETURNS int8multirange
FUNCTION dead_letter_queue(p_queue slipring.queue) RETURNS slipring.queue
FUNCTION dedup_copy(p_slot integer, p_now bigint, p_now_ms bigint) RETURNS integer
FUNCTION dedup_enter(p_queue slipring.queue, p_now_ms bigint, p_before bigint, p_groups text[], p_dedup_ids text[], p_refused jsonb[]) RETURNS bigint[]
FUNCTION dedup_enter_soon(p_queue slipring.queue, p_now_ms bigint, p_before bigint, p_units integer[], p_groups text[], p_dedup_ids text[], OUT firsts bigint[], OUT refused jsonb[]) RETURNS record
FUNCTION dedup_leave(p_queue slipring.queue, p_now_ms bigint, p_before bigint, p_groups text[], p_dedup_ids text[], p_refused jsonb[]) RETURNS bigint[]
FUNCTION dedup_newest(p_queue integer, p_scope text, p_dedup_id text, p_slot integer) RETURNS SETOF slipring.dedup
FUNCTION dedup_scope(p_by_group boolean, p_group text) RETURNS text
FUNCTION dedup_slots() RETURNS integer[]
FUNCTION dedup_there(p_queue slipring.queue, p_message bigint) RETURNS boolean
FUNCTION dump_begins() RETURNS boolean
FUNCTION endings_note(p_queue slipring.queue, p_fences bigint[]) RETURNS void
FUNCTION endings_row(p_queue integer) RETURNS bigint
FUNCTION entries_check(p_name text, p_entries integer, p_bodies integer, p_queue text) RETURNS void
FUNCTION entry_now(p_xid_base bigint) RETURNS bigint
FUNCTION extend(receipt text, lease interval DEFAULT NULL::interval) RETURNS timestamp with time zone SECURITY DEFINER
FUNCTION extend(receipts text[], lease interval DEFAULT NULL::interval) RETURNS timestamp with time zone[] SECURITY DEFINER
FUNCTION extend_each(p_receipts text[], p_lease interval) RETURNS TABLE(receipt text, lease_until timestamp with time zone, error text, error_message text, error_context jsonb)
FUNCTION fail(p_state text, p_message text, p_context jsonb) RETURNS void
FUNCTION fail_limit(p_queue text, p_limit text, p_value bigint, p_asked bigint, p_index integer DEFAULT NULL::integer, p_load bigint DEFAULT NULL::bigint) RETURNS void
FUNCTION failures(message bigint) RETURNS TABLE(attempt integer, ended_at timestamp with time zone, ended_by text, reason text) SECURITY DEFINER
FUNCTION failures_with(p_failures jsonb, p_attempt bigint, p_end text, p_reason text, p_now_ms bigint) RETURNS jsonb
FUNCTION fence_least(p_now_ms bigint) RETURNS bigint
FUNCTION fifo_before(p_queue slipring.queue, p_state slipring.state, p_done int8multirange) RETURNS bigint
FUNCTION fifo_bring_in(p_queue slipring.queue, p_state slipring.state, p_wanted bigint, p_began timestamp with time zone DEFAULT clock_timestamp()) RETURNS slipring.state
FUNCTION fifo_group_now(p_queue integer, p_name text) RETURNS SETOF slipring.fifo_group
FUNCTION fifo_groups_set(p_queue slipring.queue, p_names text[], p_ids bigint[], p_served bigint[] DEFAULT NULL::bigint[], p_brought boolean DEFAULT false, p_before bigint DEFAULT NULL::bigint) RETURNS void
FUNCTION fifo_known(p_queue slipring.queue) RETURNS bigint
FUNCTION fifo_open(p_queue integer, p_groups bigint, p_limit bigint, p_before bigint) RETURNS TABLE(turn bigint, name text, id bigint, attempts bigint, bytes integer, fence bigint)
FUNCTION findings(queue text DEFAULT NULL::text) RETURNS TABLE(queue text, kind text, why text, messages bigint, set_aside_at timestamp with time zone, kept jsonb) SECURITY DEFINER
FUNCTION findings_found(p_queue text) RETURNS SETOF slipring.aside
FUNCTION flush() RETURNS text
FUNCTION generation_aged(p_since_ms bigint, p_now_ms bigint, p_age_ms bigint) RETURNS boolean
FUNCTION generation_empty(p_low bigint, p_tables text[]) RETURNS boolean
FUNCTION generation_now(p_queue slipring.queue) RETURNS bigint
FUNCTION generation_step(p_now regclass, p_low regclass, p_mark regclass, p_since regclass, p_bytes bigint, p_worth boolean, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint, p_last text DEFAULT NULL::text) RETURNS boolean
FUNCTION generations_enter() RETURNS void
FUNCTION generations_gather() RETURNS void
FUNCTION grant(kind text, role text, queue text DEFAULT NULL::text) RETURNS void SECURITY DEFINER
FUNCTION grantees_now(p_restored boolean) RETURNS void
FUNCTION headers_bytes(p_headers text) RETURNS integer
FUNCTION headers_text(p_headers jsonb, p_queue text, p_index integer DEFAULT NULL::integer) RETURNS text
FUNCTION headers_whole(p_headers text) RETURNS boolean
FUNCTION id_take(p_queue slipring.queue, p_count integer) RETURNS bigint
FUNCTION import_generation(p_queue slipring.queue, p_now_ms bigint) RETURNS void
FUNCTION import_needed(p_facts jsonb) RETURNS void
FUNCTION in_flight_room(p_queue slipring.queue, p_now_ms bigint) RETURNS boolean
FUNCTION in_turn(p_what anyelement, p_wait_ms integer) RETURNS anyelement
FUNCTION interval_ms(p_interval interval, p_name text, p_queue text DEFAULT NULL::text, p_receipts text[] DEFAULT NULL::text[]) RETURNS bigint
FUNCTION isolation_check() RETURNS void
FUNCTION isolation_kept() RETURNS boolean
FUNCTION item_content(p_id bigint) RETURNS SETOF slipring.item_body
FUNCTION item_fault(p_item slipring.item_picture, p_fifo boolean) RETURNS text
FUNCTION item_hand_out(p_queue slipring.queue, p_now_ms bigint, p_ids bigint[], p_demands integer[], p_fence bigint, p_lease_ms bigint[], p_session boolean[], p_holder bigint, p_served bigint[] DEFAULT NULL::bigint[], p_before bigint DEFAULT NULL::bigint) RETURNS TABLE(demand integer, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, end_kind text)
FUNCTION item_move(p_queue slipring.queue, p_to slipring.queue, p_ids bigint[], p_source text, p_failures jsonb[] DEFAULT NULL::jsonb[]) RETURNS void
FUNCTION item_now(p_id bigint) RETURNS SETOF slipring.item_picture
FUNCTION item_oldest(p_queue integer) RETURNS bigint
FUNCTION item_prolong(p_queue slipring.queue, p_ids bigint[], p_untils_ms bigint[]) RETURNS void
FUNCTION item_remove(p_queue slipring.queue, p_ids bigint[]) RETURNS bigint
FUNCTION item_set(p_queue slipring.queue, p_ids bigint[], p_states integer[], p_untils_ms bigint[], p_priorities bigint[] DEFAULT NULL::bigint[], p_attempts bigint[] DEFAULT NULL::bigint[], p_fences bigint[] DEFAULT NULL::bigint[], p_delays_ms bigint[] DEFAULT NULL::bigint[], p_first_ms bigint DEFAULT NULL::bigint, p_holders bigint[] DEFAULT NULL::bigint[], p_served bigint[] DEFAULT NULL::bigint[], p_before bigint DEFAULT NULL::bigint, p_failures jsonb[] DEFAULT NULL::jsonb[]) RETURNS bigint
FUNCTION item_show(p_message bigint) RETURNS TABLE(queue integer, id bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, state text, until_ms bigint, failures jsonb)
FUNCTION item_turn(p_fifo boolean, p_state integer, p_attempts bigint, p_priority bigint) RETURNS bigint
FUNCTION items_count(p_queue integer, OUT ready bigint, OUT urgent bigint, OUT delayed bigint, OUT leased bigint, OUT parked bigint, OUT bytes bigint, OUT differences bigint) RETURNS record
FUNCTION items_first(p_mark slipring.mark, p_done int8multirange, p_limit bigint, p_acked boolean DEFAULT true) RETURNS SETOF slipring.item_picture
FUNCTION items_next(p_mark slipring.mark) RETURNS bigint
FUNCTION items_passed(p_mark slipring.mark, p_done int8multirange, p_until_ms bigint, p_limit bigint, p_found slipring.item_picture[]) RETURNS bigint
FUNCTION items_ready(p_queue integer) RETURNS boolean
FUNCTION items_timed(p_mark slipring.mark, p_until_ms bigint, p_limit bigint) RETURNS SETOF slipring.item_picture
FUNCTION journal_copy(p_queue slipring.queue, p_journal bigint, p_now_ms bigint) RETURNS boolean
FUNCTION journal_copy_idle(p_from integer, p_journal bigint) RETURNS integer
FUNCTION journal_grew(p_slot integer) RETURNS boolean
FUNCTION journal_idle(p_queue integer) RETURNS boolean
FUNCTION journal_tables() RETURNS text[]
FUNCTION lane_oldest(p_from text, p_state slipring.state, p_at integer) RETURNS bigint
FUNCTION lane_stats(p_queue slipring.queue, p_state slipring.state, p_at integer, OUT ready bigint, OUT urgent bigint, OUT bytes bigint, OUT oldest_ms bigint) RETURNS record
FUNCTION lane_trim(p_queue slipring.queue, p_state slipring.state, p_lane bigint) RETURNS slipring.state
FUNCTION lanes_learn(p_queue slipring.queue, p_priorities bigint[]) RETURNS bigint[]
FUNCTION lanes_of(p_queue slipring.queue, p_priorities bigint[]) RETURNS bigint[]
FUNCTION lapse_items(p_queue slipring.queue, p_target slipring.queue, p_ids bigint[], p_now_ms bigint, OUT ready bigint, OUT dead bigint, OUT parked bigint) RETURNS record
FUNCTION lapse_log(p_queue slipring.queue, p_target slipring.queue, p_now_ms bigint, p_left bigint, p_holder bigint, OUT lapsed bigint, OUT cost bigint, OUT next text, OUT busy boolean) RETURNS record
FUNCTION lapse_next(p_queue integer, p_after_ms bigint) RETURNS bigint
FUNCTION lapse_queue(p_queue slipring.queue, p_now_ms bigint, p_left bigint, p_ids bigint[], p_holder bigint, p_log boolean) RETURNS TABLE(queue integer, ready bigint, removed bigint, handled bigint, busy boolean)
FUNCTION lease_ack(p_queue slipring.queue, INOUT p_state slipring.state, p_messages bigint[], p_fences bigint[], OUT rest integer[]) RETURNS record
FUNCTION lease_ack_ids(p_queue slipring.queue, INOUT p_state slipring.state, p_fences bigint[], p_ids int8multirange[], OUT messages bigint[], OUT fences bigint[]) RETURNS record
FUNCTION lease_ack_runs(p_queue slipring.queue, INOUT p_state slipring.state, p_lows bigint[], p_highs bigint[], p_fences bigint[], OUT done boolean) RETURNS record
FUNCTION lease_add(p_queue slipring.queue, INOUT p_state slipring.state, p_now_ms bigint, p_lane bigint, p_region int8multirange, p_ids bigint[], p_bytes integer[], p_own_ms bigint[], p_demands integer[], p_lease_ms bigint[], p_session boolean[], p_holder bigint, OUT fences bigint[], OUT deadlines bigint[]) RETURNS record
FUNCTION lease_check(p_error text, p_message text, p_context jsonb) RETURNS void
FUNCTION lease_fault(p_lease slipring.lease, p_state slipring.state) RETURNS text
FUNCTION lease_find(p_queue integer, p_messages bigint[], p_fences bigint[]) RETURNS TABLE(n integer, message bigint, fence bigint, part bigint, lane bigint, deadline_ms bigint, leased_ms bigint)
FUNCTION lease_free(p_queue slipring.queue, p_fence bigint, p_message bigint) RETURNS boolean
FUNCTION lease_key(p_lock_key bigint, p_fence bigint, p_message bigint) RETURNS bigint
FUNCTION lease_lost(p_why text) RETURNS text
FUNCTION lease_members(p_from text, p_lease slipring.lease, p_limit bigint) RETURNS TABLE(id bigint, bytes integer, sent_ms bigint)
FUNCTION lease_newest(p_queue integer, p_fences bigint[]) RETURNS SETOF slipring.lease
FUNCTION lease_open(p_queue integer) RETURNS SETOF slipring.lease
FUNCTION lease_prolong(p_queue slipring.queue, p_state slipring.state, p_ids bigint[], p_fences bigint[], p_untils_ms bigint[]) RETURNS void
FUNCTION lease_single(p_queue integer, p_fence bigint) RETURNS boolean
FUNCTION leased_log(p_queue slipring.queue, p_state slipring.state, p_limit bigint) RETURNS TABLE(lane bigint, id bigint, leased_ms bigint, deadline_ms bigint)
FUNCTION leases_in(p_queue integer, p_fences int8multirange) RETURNS SETOF slipring.lease
FUNCTION leases_mark(p_queue integer, p_state slipring.state) RETURNS void
FUNCTION leases_meeting(p_queue integer, p_table text, p_lanes bigint[]) RETURNS SETOF slipring.lease
FUNCTION leases_members(p_from text, p_leases slipring.lease[], p_limit bigint) RETURNS TABLE(id bigint, lane bigint, fence bigint, deadline_ms bigint, leased_ms bigint, holder bigint)
FUNCTION leases_own(p_queue slipring.queue, p_state slipring.state, p_messages bigint[], p_fences bigint[], p_leases_ms bigint[]) RETURNS bigint[]
FUNCTION leases_walk(p_queue integer) RETURNS int8multirange
FUNCTION live_table_names(p_queue slipring.queue, p_state slipring.state) RETURNS text[]
FUNCTION live_tables(p_names text[]) RETURNS text
FUNCTION live_tables(p_queue slipring.queue, p_state slipring.state) RETURNS text
FUNCTION load_abandon(load bigint) RETURNS void SECURITY DEFINER
FUNCTION load_allow(p_load bigint) RETURNS void
FUNCTION load_alone(p_name text) RETURNS void
FUNCTION load_append(load bigint, part bigint, bodies bytea[], priority bigint DEFAULT 1024, "group" text DEFAULT NULL::text, headers jsonb[] DEFAULT NULL::jsonb[]) RETURNS boolean SECURITY DEFINER
FUNCTION load_append(load bigint, part bigint, bodies jsonb[], priority bigint DEFAULT 1024, "group" text DEFAULT NULL::text, headers jsonb[] DEFAULT NULL::jsonb[]) RETURNS boolean
FUNCTION load_append(load bigint, part bigint, bodies text[], priority bigint DEFAULT 1024, "group" text DEFAULT NULL::text, headers jsonb[] DEFAULT NULL::jsonb[]) RETURNS boolean
FUNCTION load_append_rows(p_load bigint, p_part bigint, p_checksum bigint, p_now_ms bigint, p_bodies bytea[], p_priorities bigint[], p_leases_ms bigint[], p_groups text[], p_headers text[], p_ns integer[], p_eachs_bytes integer[], p_sizes bigint[], p_count integer, p_largest bigint, p_largest_at integer) RETURNS boolean
FUNCTION load_begin(queue text, parts integer DEFAULT 1024) RETURNS bigint SECURITY DEFINER
FUNCTION load_held(p_queue integer) RETURNS int8multirange
FUNCTION load_lock(p_load bigint, p_alone boolean) RETURNS void
FUNCTION load_only_open() RETURNS boolean
FUNCTION load_open(p_load bigint) RETURNS slipring.load
FUNCTION load_part_add(p_load slipring.load, p_part bigint, p_checksum bigint, p_now_ms bigint, p_priorities bigint[], p_sizes bigint[], p_count integer) RETURNS bigint
FUNCTION load_parts_blocks(p_first bigint, p_parts integer, p_queue text, p_load bigint DEFAULT NULL::bigint) RETURNS bigint[]
FUNCTION load_publish(load bigint, messages bigint) RETURNS bigint SECURITY DEFINER
FUNCTION load_reserve(load bigint, first bigint, parts integer DEFAULT 1024) RETURNS void SECURITY DEFINER
FUNCTION load_reserve_blocks(p_queue slipring.queue, p_load integer, p_blocks bigint[]) RETURNS void
FUNCTION load_reserving(p_queue integer) RETURNS regclass
FUNCTION load_room(p_queue slipring.queue, p_load integer, p_messages bigint, p_bytes bigint) RETURNS void
FUNCTION load_show(p_queue integer, p_own bigint) RETURNS bigint
FUNCTION load_shown_open(p_first bigint, p_past bigint) RETURNS boolean
FUNCTION lock_row_class(p_secret bytea) RETURNS integer
FUNCTION locks_fit(p_queue slipring.queue, p_messages bigint[], p_fences bigint[], p_kinds text[]) RETURNS void
FUNCTION locks_left() RETURNS bigint
FUNCTION log_any(p_table text, p_lanes bigint[], p_ids int8multirange[]) RETURNS boolean
FUNCTION log_count(p_from text, p_lane bigint, p_low bigint, p_high bigint, OUT n bigint, OUT urgent bigint, OUT bytes bigint) RETURNS record
FUNCTION log_cut_out(p_queue slipring.queue, INOUT p_state slipring.state, p_message bigint, OUT lane bigint) RETURNS record
FUNCTION log_drop(p_queue slipring.queue, INOUT p_state slipring.state, p_sent_until_ms bigint, p_limit bigint, OUT removed bigint) RETURNS record
FUNCTION log_feed(p_queue slipring.queue, p_state slipring.state, p_done int8multirange, p_limit bigint) RETURNS TABLE(at integer, id bigint, bytes integer, lease_ms bigint, sent_ms bigint)
FUNCTION log_find(p_message bigint, OUT queue integer, OUT lane bigint, OUT leased boolean, OUT leased_ms bigint, OUT deadline_ms bigint) RETURNS record
FUNCTION log_find_shared(p_message bigint) RETURNS bigint
FUNCTION log_holds(p_queue slipring.queue, p_message bigint, p_fence bigint) RETURNS boolean
FUNCTION log_leave(INOUT p_state slipring.state, p_at integer, p_done int8multirange, p_ids bigint[], p_sizes integer[], OUT region int8multirange) RETURNS record
FUNCTION log_messages(p_from text, p_lanes bigint[], p_ids bigint[]) RETURNS TABLE(n bigint, id bigint, lane bigint, sent_ms bigint, bytes integer, priority bigint, lease_ms bigint, group_name text, dedup_id text, headers text, body bytea)
FUNCTION log_row(p_from text, p_lane text, p_id text) RETURNS text
FUNCTION log_rows(p_from text, p_lane text, p_low text, p_high text) RETURNS text
FUNCTION log_show(p_queue slipring.queue, p_state slipring.state, p_lanes bigint[], p_ids bigint[], p_leased_ms bigint[], p_untils_ms bigint[]) RETURNS TABLE(rank bigint, queue integer, id bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, state text, until_ms bigint, bytes integer, failures jsonb)
FUNCTION log_to_items(p_from text, p_to slipring.queue, p_lanes bigint[], p_ids bigint[], p_states integer[], p_untils_ms bigint[], p_priorities bigint[], p_attempts bigint[], p_fences bigint[], p_first_ms bigint[], p_delays_ms bigint[], p_source text, p_holders bigint[] DEFAULT NULL::bigint[], p_foreign boolean DEFAULT false, p_before bigint DEFAULT NULL::bigint, p_failures jsonb[] DEFAULT NULL::jsonb[]) RETURNS void
FUNCTION maintain(IN at_most interval DEFAULT '00:00:30'::interval) RETURNS 
FUNCTION maintain_step(step text, at integer) RETURNS integer SECURITY DEFINER
FUNCTION maintenance() RETURNS TABLE(step text, at integer) SECURITY DEFINER
FUNCTION mark_forward(p_mark slipring.mark, p_done int8multirange, p_turn bigint, p_id bigint, p_least bigint) RETURNS bigint
FUNCTION mark_low(p_kind integer) RETURNS bigint
FUNCTION mark_read(p_queue integer, p_kind integer) RETURNS slipring.mark
FUNCTION mark_write(p_mark slipring.mark, p_turn bigint, p_id bigint, p_done int8multirange) RETURNS void
FUNCTION message_check(p_queue slipring.queue, p_body bytea, p_priority bigint, p_group text, p_dedup_id text, p_headers text, p_index integer) RETURNS void
FUNCTION message_fault(p_n integer, p_bytes integer, p_sent_ms bigint, p_priority bigint, p_lease_ms bigint, p_headers text, p_body bytea) RETURNS text
FUNCTION message_gone(p_message bigint, p_queue text DEFAULT NULL::text) RETURNS void
FUNCTION message_held(p_message bigint) RETURNS void
FUNCTION message_queue(p_message bigint, p_now_ms bigint) RETURNS slipring.queue
FUNCTION moment_now(p_written timestamp with time zone) RETURNS timestamp with time zone
FUNCTION move_ready(p_source slipring.queue, p_target slipring.queue, p_limit bigint) RETURNS bigint
FUNCTION move_running() RETURNS text[]
FUNCTION move_step(p_move slipring.place_move, p_running text[], p_now_ms bigint, p_age_ms bigint) RETURNS boolean
FUNCTION move_wait(p_move slipring.place_move, p_running text[]) RETURNS boolean
FUNCTION moves_apply(p_from text, p_queue slipring.queue, p_target slipring.queue, p_moves slipring.move[]) RETURNS void
FUNCTION nack(receipt text, delay interval DEFAULT NULL::interval) RETURNS text SECURITY DEFINER
FUNCTION nack(receipt text, delay interval, reason text) RETURNS text SECURITY DEFINER
FUNCTION nack(receipts text[], delay interval DEFAULT NULL::interval) RETURNS text[] SECURITY DEFINER
FUNCTION nack(receipts text[], delay interval, reason text) RETURNS text[] SECURITY DEFINER
FUNCTION nack_each(p_receipts text[], p_delay interval, p_reason text DEFAULT NULL::text) RETURNS TABLE(receipt text, outcome text, error text, error_message text, error_context jsonb)
FUNCTION name_shown(p_name text) RETURNS text
FUNCTION now_ms() RETURNS bigint
FUNCTION number_take(p_queue text, p_new boolean, p_count integer) RETURNS integer
FUNCTION numbers() RETURNS regclass
FUNCTION offer_apart(p_queue slipring.queue, p_now_ms bigint, p_n bigint) RETURNS slipring.state
FUNCTION offer_beside(p_queue integer, p_n bigint, p_now_ms bigint) RETURNS void
FUNCTION offer_draw(p_queue slipring.queue, p_now_ms bigint, p_n bigint, OUT lane bigint, OUT parts int8multirange[], OUT sizes integer[], OUT todo int8multirange, OUT total bigint, OUT tables text[]) RETURNS record
FUNCTION offer_ids(p_tables text[], p_lane bigint, p_ready int8multirange, p_limit bigint) RETURNS bigint[]
FUNCTION offer_last(p_queue integer, OUT first bigint, OUT past bigint, OUT rows bigint, OUT made_ms bigint) RETURNS record
FUNCTION offer_low(p_queue slipring.queue, p_low bigint) RETURNS bigint
FUNCTION offer_make(p_queue slipring.queue, p_state slipring.state, p_now_ms bigint, p_n bigint) RETURNS void
FUNCTION offer_open(p_queue slipring.queue, p_lane bigint, p_id bigint) RETURNS int8multirange
FUNCTION offer_over(p_queue integer, p_now_ms bigint) RETURNS boolean
FUNCTION offer_parts(p_tables text[], p_lane bigint, p_ready int8multirange, p_limit bigint, p_part bigint, p_parts bigint, OUT ids bigint[], OUT sizes integer[]) RETURNS record
FUNCTION offer_short(p_queue integer, p_now_ms bigint) RETURNS boolean
FUNCTION offer_take(p_queue slipring.queue, p_now_ms bigint, p_lease_ms bigint, OUT message slipring.message, OUT fence bigint, OUT deadline_ms bigint) RETURNS record
FUNCTION offer_turn(p_queue slipring.queue, p_n bigint, p_now_ms bigint) RETURNS boolean
FUNCTION pack_bodies(p_bodies bytea[]) RETURNS TABLE(last integer, body bytea, n integer, bytes_each integer)
FUNCTION pack_body(p_pack bytea, p_n integer, p_k integer) RETURNS bytea
FUNCTION pack_end(p_pack bytea, p_k integer) RETURNS integer
FUNCTION pack_message(p_row slipring.message, p_id bigint) RETURNS slipring.message
FUNCTION pack_open(p_rows bytea[], p_ns integer[]) RETURNS bytea[]
FUNCTION parked_take(p_queue slipring.queue, p_limit bigint) RETURNS bigint[]
FUNCTION pause(queue text, until timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS void SECURITY DEFINER
FUNCTION peek(queue text, state text DEFAULT NULL::text, n integer DEFAULT 10) RETURNS TABLE(id bigint, message_state text, until timestamp with time zone, body bytea, priority bigint, attempts bigint, sent_at timestamp with time zone, "group" text, dedup_id text, headers jsonb, dead_letter_source text) SECURITY DEFINER
FUNCTION peek_items(p_queue integer, p_state integer, p_limit bigint) RETURNS TABLE(rank bigint, queue integer, id bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, state text, until_ms bigint, bytes integer, failures jsonb)
FUNCTION place_add(p_queue integer, p_now_ms bigint) RETURNS integer
FUNCTION place_bytes(p_place integer) RETURNS bigint
FUNCTION place_enter(p_queue slipring.queue) RETURNS void
FUNCTION place_gone(p_queue slipring.queue, p_state slipring.state, p_table text, p_lane bigint, p_first bigint, p_past bigint) RETURNS int8multirange
FUNCTION place_largest(p_place integer, p_table text, p_bytes bigint, p_bytes_min bigint) RETURNS integer
FUNCTION place_left(p_queue slipring.queue, p_table text) RETURNS boolean
FUNCTION place_make(p_place integer, p_shared boolean) RETURNS void
FUNCTION place_reserve(p_queue integer, p_now_ms bigint) RETURNS integer
FUNCTION place_retire(p_place slipring.place_rotation, p_table text, p_now_ms bigint, p_age_ms bigint, OUT moved boolean, OUT "left" boolean) RETURNS record
FUNCTION place_share(p_now_ms bigint) RETURNS integer
FUNCTION place_step(p_place slipring.place_rotation, p_moved boolean, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint) RETURNS boolean
FUNCTION place_tables(p_place integer) RETURNS text[]
FUNCTION place_take(p_queue integer) RETURNS integer
FUNCTION places_empty() RETURNS boolean
FUNCTION purge(queue text) RETURNS bigint SECURITY DEFINER
FUNCTION queue_add(p_queue slipring.queue) RETURNS void
FUNCTION queue_allow(p_kind text, p_queue slipring.queue) RETURNS void
FUNCTION queue_at_home(p_queue slipring.queue) RETURNS void
FUNCTION queue_changed() RETURNS trigger
FUNCTION queue_count(p_queue slipring.queue) RETURNS boolean
FUNCTION queue_empty(p_queue slipring.queue, p_state slipring.state) RETURNS boolean
FUNCTION queue_free(p_queue integer) RETURNS boolean
FUNCTION queue_gone(p_queue integer, p_name text DEFAULT NULL::text) RETURNS void
FUNCTION queue_head(p_queue slipring.queue, p_now_ms bigint) RETURNS TABLE(failing boolean, priority bigint, sent_ms bigint, id bigint)
FUNCTION queue_hold(p_queue integer) RETURNS slipring.queue
FUNCTION queue_holds_other(p_queue integer) RETURNS boolean
FUNCTION queue_lock(p_queue integer, p_needed boolean DEFAULT true) RETURNS slipring.queue
FUNCTION queue_lock_is_row(p_queue integer) RETURNS boolean
FUNCTION queue_name_ok(p_name text) RETURNS boolean
FUNCTION queue_named(p_name text, p_kind text) RETURNS slipring.queue
FUNCTION queue_oldest(p_queue slipring.queue) RETURNS bigint
FUNCTION queue_paused(p_queue slipring.queue, p_now_ms bigint) RETURNS boolean
FUNCTION queue_peek(p_queue slipring.queue, p_state text, p_limit integer) RETURNS TABLE(queue integer, id bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, state text, until_ms bigint, failures jsonb)
FUNCTION queue_retire(p_queue slipring.queue, p_table text, p_all boolean, p_since_ms bigint, p_now_ms bigint, p_age_ms bigint) RETURNS boolean
FUNCTION queue_right(p_kind text, p_queue integer) RETURNS boolean
FUNCTION queue_stand(p_queue integer) RETURNS void
FUNCTION queue_stats(p_queue slipring.queue) RETURNS TABLE(ready bigint, urgent bigint, delayed bigint, leased bigint, parked bigint, bytes bigint, oldest_ready_ms bigint)
FUNCTION queue_stirring(p_after integer) RETURNS integer
FUNCTION queue_tables(p_queue slipring.queue, p_now_ms bigint) RETURNS slipring.queue
FUNCTION queue_try(p_queue integer, p_wait_ms integer DEFAULT 50) RETURNS slipring.queue
FUNCTION queue_unchanged(p_queue integer) RETURNS void
FUNCTION queue_wait(p_queue integer, p_by_user boolean DEFAULT false) RETURNS void
FUNCTION queues() RETURNS TABLE(queue text, fifo boolean, paused boolean, ready bigint, delayed bigint, leased bigint, parked bigint, bytes bigint, oldest_ready_at timestamp with time zone, set_aside bigint) SECURITY DEFINER
FUNCTION queues_lock(p_queues integer[]) RETURNS void
FUNCTION read_committed() RETURNS boolean
FUNCTION ready(queue text) RETURNS boolean SECURITY DEFINER
FUNCTION reason_text(p_reason text) RETURNS text
FUNCTION receipt_list(p_text text) RETURNS text[]
FUNCTION receipt_open(p_receipts text[]) RETURNS TABLE(n integer, queue integer, message bigint, fence bigint)
FUNCTION receipt_parts(p_receipts text[]) RETURNS TABLE(n bigint, receipt text, what text)
FUNCTION receipt_right(p_key bytea, p_receipt text, p_what text) RETURNS boolean
FUNCTION receipt_seal(p_key bytea, p_queue integer, p_message bigint, p_fence bigint) RETURNS text
FUNCTION receipt_text(p_key bytea, p_what text) RETURNS text
FUNCTION receipt_wrong(p_receipt text) RETURNS text
FUNCTION receipts_by_queue(p_receipts text[]) RETURNS TABLE(queue integer, messages bigint[], fences bigint[], receipts text[], facts jsonb)
FUNCTION receive(queue text, n integer DEFAULT 1, lease interval DEFAULT NULL::interval) RETURNS TABLE(receipt text, body bytea, id bigint, priority bigint, attempts bigint, sent_at timestamp with time zone, lease_until timestamp with time zone, "group" text, dedup_id text, headers jsonb) SECURITY DEFINER
FUNCTION receive_claim(p_queue slipring.queue, p_now_ms bigint, p_n integer, p_lease_ms bigint) RETURNS TABLE(demand integer, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, end_kind text, ids bigint[], sents_ms bigint[], bodies bytea[], groups text[], dedup_ids text[], headers_each text[], ns integer[], firsts bigint[], counts integer[], place bigint)
FUNCTION receive_one(p_queue slipring.queue, p_now_ms bigint, p_lease_ms bigint, OUT message slipring.message, OUT fence bigint, OUT deadline_ms bigint, OUT ended boolean) RETURNS record
FUNCTION receive_taken(p_queue slipring.queue, p_now_ms bigint, p_n bigint, p_lease_ms bigint, p_asked boolean DEFAULT false) RETURNS TABLE(demand integer, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, end_kind text, ids bigint[], sents_ms bigint[], bodies bytea[], groups text[], dedup_ids text[], headers_each text[], ns integer[], firsts bigint[], counts integer[], place bigint)
FUNCTION redrive(source text, messages bigint[], target text DEFAULT NULL::text) RETURNS text[] SECURITY DEFINER
FUNCTION redrive(source text, target text DEFAULT NULL::text, n integer DEFAULT 1000) RETURNS bigint SECURITY DEFINER
FUNCTION remove_old(p_queue slipring.queue, p_sent_until_ms bigint, p_limit bigint, p_all boolean) RETURNS bigint
FUNCTION resume(queue text) RETURNS void SECURITY DEFINER
FUNCTION retentions(p_now_ms bigint) RETURNS TABLE(queue integer, retention_ms bigint, shelved boolean)
FUNCTION retire_leased(p_queue slipring.queue, p_table text, p_before_ms bigint) RETURNS boolean
FUNCTION retire_ready(p_queue slipring.queue, p_table text, p_move boolean, p_all boolean) RETURNS bigint
FUNCTION revoke(kind text, role text, queue text DEFAULT NULL::text) RETURNS void SECURITY DEFINER
FUNCTION right_change(p_kind text, p_role text, p_queue text, p_give boolean) RETURNS void
FUNCTION right_functions(p_kind text, p_whole boolean) RETURNS text[]
FUNCTION right_in_all(p_type regtype) RETURNS boolean
FUNCTION right_of_session(p_type regtype) RETURNS boolean
FUNCTION rights_apply(p_role text) RETURNS void
FUNCTION rights_apply_all() RETURNS void
FUNCTION rotate_dedup(p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint) RETURNS boolean
FUNCTION rotate_journal(p_after integer, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint, OUT done boolean, OUT after integer) RETURNS record
FUNCTION rotate_moves(p_after integer, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint, OUT done boolean, OUT after integer) RETURNS record
FUNCTION rotate_places(p_after integer, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint, OUT done boolean, OUT after integer) RETURNS record
FUNCTION rotate_queue(p_queue slipring.queue, p_moved boolean, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint) RETURNS boolean
FUNCTION rotate_queues(p_after integer, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint, OUT done boolean, OUT after integer) RETURNS record
FUNCTION rotate_shelf(p_after integer, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint, OUT done boolean, OUT after integer) RETURNS record
FUNCTION rotation_due(p_bytes bigint, p_worth boolean, p_since_ms bigint, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint) RETURNS boolean
FUNCTION rotation_wait(p_since regclass, p_queue integer, p_now_ms bigint) RETURNS integer
FUNCTION rotation_worth(p_bytes bigint, p_bytes_min bigint) RETURNS boolean
FUNCTION row_fault(p_state text) RETURNS boolean
FUNCTION send(queue text, body bytea, priority bigint DEFAULT 1024, delay interval DEFAULT NULL::interval, "group" text DEFAULT NULL::text, dedup_id text DEFAULT NULL::text, headers jsonb DEFAULT NULL::jsonb) RETURNS bigint SECURITY DEFINER
FUNCTION send(queue text, body jsonb, priority bigint DEFAULT 1024, delay interval DEFAULT NULL::interval, "group" text DEFAULT NULL::text, dedup_id text DEFAULT NULL::text, headers jsonb DEFAULT NULL::jsonb) RETURNS bigint
FUNCTION send(queue text, body text, priority bigint DEFAULT 1024, delay interval DEFAULT NULL::interval, "group" text DEFAULT NULL::text, dedup_id text DEFAULT NULL::text, headers jsonb DEFAULT NULL::jsonb) RETURNS bigint
FUNCTION send_batch(queue text, bodies bytea[], priority bigint DEFAULT 1024, delay interval DEFAULT NULL::interval, "group" text DEFAULT NULL::text, dedup_ids text[] DEFAULT NULL::text[], headers jsonb[] DEFAULT NULL::jsonb[]) RETURNS bigint[] SECURITY DEFINER
FUNCTION send_batch(queue text, bodies jsonb[], priority bigint DEFAULT 1024, delay interval DEFAULT NULL::interval, "group" text DEFAULT NULL::text, dedup_ids text[] DEFAULT NULL::text[], headers jsonb[] DEFAULT NULL::jsonb[]) RETURNS bigint[]
FUNCTION send_batch(queue text, bodies text[], priority bigint DEFAULT 1024, delay interval DEFAULT NULL::interval, "group" text DEFAULT NULL::text, dedup_ids text[] DEFAULT NULL::text[], headers jsonb[] DEFAULT NULL::jsonb[]) RETURNS bigint[]
FUNCTION send_rows(p_queue text, p_bodies bytea[], p_priorities bigint[], p_delays_ms bigint[], p_groups text[], p_dedup_ids text[], p_headers text[]) RETURNS bigint[]
FUNCTION set_aside(queue text) RETURNS bigint SECURITY DEFINER
FUNCTION settings_backoff(p_backoff jsonb) RETURNS boolean
FUNCTION settings_backoff_other(p_backoff jsonb) RETURNS text
FUNCTION settings_check(p_settings jsonb, p_queue text) RETURNS void
FUNCTION settings_default() RETURNS jsonb
FUNCTION settings_fill(p_queue slipring.queue, p_settings jsonb) RETURNS slipring.queue
FUNCTION settings_merge(p_settings jsonb, p_changes jsonb, p_queue text) RETURNS jsonb
FUNCTION settings_number(p_settings jsonb, p_name text) RETURNS bigint
FUNCTION settings_whole(p_value jsonb, p_low bigint, p_high bigint) RETURNS boolean
FUNCTION settle_items(p_queue slipring.queue, p_target slipring.queue, p_now_ms bigint, p_ns integer[], p_messages bigint[], p_fences bigint[], p_kinds text[], p_delays_ms bigint[], p_priorities bigint[], p_jitter double precision[], p_reasons text[]) RETURNS TABLE(n integer, outcome text, until_ms bigint, target integer)
FUNCTION settle_items_apply(p_queue slipring.queue, p_target slipring.queue, p_done bigint[], p_dead bigint[], p_dead_failures jsonb[], p_moves slipring.move[]) RETURNS void
FUNCTION settle_log(p_queue slipring.queue, p_target slipring.queue, p_now_ms bigint, p_ns integer[], p_messages bigint[], p_fences bigint[], p_kinds text[], p_delays_ms bigint[], p_priorities bigint[], p_jitter double precision[], p_reasons text[]) RETURNS TABLE(n integer, outcome text, until_ms bigint, target integer)
FUNCTION settle_log_apply(p_queue slipring.queue, p_state slipring.state, p_target slipring.queue, p_ids bigint[], p_fences bigint[], p_moves slipring.move[]) RETURNS void
FUNCTION settle_next(p_queue slipring.queue, p_kind text, p_attempts bigint, p_delay_ms bigint, p_jitter double precision, OUT next text, OUT delay_ms bigint) RETURNS record
FUNCTION settle_others(p_queue slipring.queue, p_state slipring.state, p_now_ms bigint, p_messages bigint[], p_fences bigint[], p_kinds text[], p_delays_ms bigint[], p_priorities bigint[], p_jitter double precision[], p_reasons text[]) RETURNS TABLE(n integer, outcome text, until_ms bigint, target integer, error text, error_message text, error_context jsonb)
FUNCTION settled(p_message bigint, p_n integer, p_outcome text, p_until_ms bigint, p_target integer) RETURNS TABLE(n integer, outcome text, until_ms bigint, target integer, error text, error_message text, error_context jsonb)
FUNCTION shelf_bytes(p_slot integer) RETURNS bigint
FUNCTION shelf_copy(p_queue slipring.queue, p_from integer, p_shelf bigint) RETURNS void
FUNCTION shelf_copy_items(p_copied slipring.mark, p_from integer, p_shelf bigint, p_sent_ms bigint, p_id bigint) RETURNS bigint
FUNCTION shelf_seq(p_before bigint) RETURNS bigint
FUNCTION shelf_slot() RETURNS integer
FUNCTION shelf_tables() RETURNS text[]
FUNCTION shelf_waits(p_after integer, p_from integer, p_shelf bigint) RETURNS TABLE(queue_id integer)
FUNCTION source_text(p_source text, p_earlier bigint) RETURNS text
FUNCTION spans(p_ranges int8multirange) RETURNS TABLE(first bigint, past bigint)
FUNCTION state_add_lane(p_state slipring.state, p_lane bigint) RETURNS slipring.state
FUNCTION state_begin(p_queue slipring.queue, p_now_ms bigint) RETURNS void
FUNCTION state_count(p_queue slipring.queue, p_state slipring.state, p_done int8multirange) RETURNS slipring.state
FUNCTION state_newest(p_queue integer) RETURNS slipring.state
FUNCTION state_read(p_queue slipring.queue) RETURNS slipring.state
FUNCTION state_uncount(p_state slipring.state, p_at integer, p_ids bigint[], p_bytes integer[], p_counts integer[] DEFAULT NULL::integer[]) RETURNS slipring.state
FUNCTION state_write(p_queue slipring.queue, p_state slipring.state) RETURNS void
FUNCTION stats(queue text) RETURNS TABLE(ready bigint, urgent bigint, delayed bigint, leased bigint, parked bigint, bytes bigint, oldest_ready_at timestamp with time zone) SECURITY DEFINER
FUNCTION stats_acked(p_queue slipring.queue, p_state slipring.state, OUT n bigint, OUT bytes bigint) RETURNS record
FUNCTION store_ack(p_queue integer, p_lows bigint[], p_highs bigint[], p_fences bigint[], OUT done boolean, OUT flush text) RETURNS record
FUNCTION store_append(p_queue integer, p_now_ms bigint, p_units integer[], p_bodies bytea[], p_priorities bigint[], p_delays_ms bigint[], p_leases_ms bigint[], p_groups text[], p_dedup_ids text[], p_headers text[], p_ns integer[], p_eachs_bytes integer[]) RETURNS TABLE(ord integer, id bigint, duplicate boolean, due_ms bigint, error text, error_message text, error_context jsonb)
FUNCTION store_cancel(p_message bigint, p_now_ms bigint) RETURNS integer
FUNCTION store_claim(p_queue integer, p_now_ms bigint, p_up_to integer[], p_lease_ms bigint[], p_session boolean[], p_holder bigint, p_waited_ms bigint DEFAULT 0) RETURNS TABLE(demand integer, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, end_kind text, ids bigint[], sents_ms bigint[], bodies bytea[], groups text[], dedup_ids text[], headers_each text[], ns integer[], firsts bigint[], counts integer[], place bigint)
FUNCTION store_claim_message(p_queue integer, p_message bigint, p_lease_ms bigint, p_session boolean, p_holder bigint, p_now_ms bigint, p_waited_ms bigint DEFAULT 0) RETURNS TABLE(demand integer, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, end_kind text)
FUNCTION store_configure(p_queue integer, p_settings jsonb, p_now_ms bigint, p_seen_ms bigint DEFAULT NULL::bigint) RETURNS TABLE(queue_id integer, name text, settings jsonb, created_ms bigint, modified_ms bigint, done boolean)
FUNCTION store_create_queue(p_name text, p_settings jsonb, p_now_ms bigint) RETURNS TABLE(queue_id integer, name text, settings jsonb, created_ms bigint, modified_ms bigint, created boolean)
FUNCTION store_deadlines(p_after integer, p_limit integer) RETURNS TABLE(queue integer, due_ms bigint, lapse_ms bigint)
FUNCTION store_delete_queue(p_queue integer) RETURNS void
FUNCTION store_due_in(p_queue integer, p_now_ms bigint) RETURNS TABLE(queue integer, ready bigint, removed bigint, next_ms bigint)
FUNCTION store_end_sessions(p_queue integer, p_holder bigint, p_now_ms bigint) RETURNS TABLE(queue integer, ready bigint)
FUNCTION store_expire_in(p_queue integer, p_now_ms bigint) RETURNS TABLE(queue integer, ready bigint, removed bigint, next_ms bigint)
FUNCTION store_extend(p_queue integer, p_now_ms bigint, p_messages bigint[], p_fences bigint[], p_leases_ms bigint[], p_take_up boolean[] DEFAULT NULL::boolean[], p_waited_ms bigint DEFAULT 0) RETURNS TABLE(ord integer, deadline_ms bigint, error text, error_message text, error_context jsonb)
FUNCTION store_heads(p_queues integer[], p_now_ms bigint) RETURNS TABLE(ord integer, failing boolean, priority bigint, sent_ms bigint, id bigint)
FUNCTION store_holders(p_holder bigint) RETURNS TABLE(queue integer)
FUNCTION store_import() RETURNS TABLE(xid_base bigint, queues bigint)
FUNCTION store_kick(p_queue integer, p_limit integer, p_now_ms bigint) RETURNS bigint
FUNCTION store_kick_message(p_message bigint, p_now_ms bigint) RETURNS integer
FUNCTION store_load_abandon(p_load bigint) RETURNS void
FUNCTION store_load_append(p_load bigint, p_part bigint, p_checksum bigint, p_now_ms bigint, p_bodies bytea[], p_priorities bigint[], p_leases_ms bigint[], p_groups text[], p_headers text[], p_ns integer[], p_eachs_bytes integer[], p_sizes bigint[], p_count integer, p_largest bigint, p_largest_at integer) RETURNS boolean
FUNCTION store_load_begin(p_queue integer, p_now_ms bigint, p_blocks integer) RETURNS integer
FUNCTION store_load_parts(p_load bigint, p_from bigint, p_limit bigint) RETURNS TABLE(part bigint, messages bigint, checksum bigint)
FUNCTION store_load_prune(p_until_ms bigint, OUT ended boolean, OUT next_ms bigint) RETURNS record
FUNCTION store_load_publish(p_load bigint, p_messages bigint, p_now_ms bigint) RETURNS slipring.load
FUNCTION store_load_reserve(p_load bigint, p_blocks bigint[]) RETURNS void
FUNCTION store_loads() RETURNS SETOF slipring.load
FUNCTION store_lookup(p_message bigint, p_now_ms bigint) RETURNS TABLE(queue integer, id bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, state text, until_ms bigint, failures jsonb)
FUNCTION store_move(p_source integer, p_target integer, p_limit integer, p_now_ms bigint) RETURNS TABLE(queue integer, moved bigint)
FUNCTION store_move_chosen(p_source integer, p_target integer, p_messages bigint[], p_now_ms bigint) RETURNS TABLE(n integer, target integer, error text, error_message text, error_context jsonb)
FUNCTION store_peek(p_queue integer, p_state text, p_limit integer, p_now_ms bigint) RETURNS TABLE(queue integer, id bigint, sent_ms bigint, priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text, headers text, source text, body bytea, state text, until_ms bigint, failures jsonb)
FUNCTION store_prune(p_queue integer, p_now_ms bigint, p_limit bigint) RETURNS TABLE(removed bigint, next_ms bigint)
FUNCTION store_purge(p_queue integer, p_limit integer, p_sent_until_ms bigint) RETURNS bigint
FUNCTION store_rotate(p_part text, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint, p_after integer DEFAULT 0) RETURNS TABLE(done boolean, after integer)
FUNCTION store_set_aside(p_queue integer, p_now_ms bigint) RETURNS TABLE(kind text, why text, messages bigint)
FUNCTION store_settle(p_queue integer, p_now_ms bigint, p_messages bigint[], p_fences bigint[], p_kinds text[], p_delays_ms bigint[], p_priorities bigint[], p_jitter double precision[], p_lows bigint[] DEFAULT '{}'::bigint[], p_highs bigint[] DEFAULT '{}'::bigint[], p_run_fences bigint[] DEFAULT '{}'::bigint[], p_reasons text[] DEFAULT NULL::text[]) RETURNS TABLE(ord integer, outcome text, until_ms bigint, target integer, error text, error_message text, error_context jsonb)
FUNCTION store_stats(p_queue integer, p_now_ms bigint) RETURNS TABLE(ready bigint, urgent bigint, delayed bigint, leased bigint, parked bigint, bytes bigint, oldest_ready_ms bigint)
FUNCTION store_system_identifier() RETURNS bigint
FUNCTION tables_empty(p_tables text) RETURNS boolean
FUNCTION tables_lock(p_tables text, p_wait_ms integer DEFAULT 0) RETURNS boolean
FUNCTION tables_where() RETURNS void
FUNCTION taken_apart(p_queue slipring.queue, p_want bigint, p_all boolean, p_tables text[] DEFAULT NULL::text[]) RETURNS slipring.state
FUNCTION taken_ask(p_queue slipring.queue) RETURNS boolean
FUNCTION taken_asked(p_queue integer) RETURNS regclass
FUNCTION taken_base(p_queue slipring.queue, p_now_ms bigint) RETURNS bigint
FUNCTION taken_begin(p_state slipring.state) RETURNS slipring.state
FUNCTION taken_cut(p_queue slipring.queue) RETURNS int8multirange
FUNCTION taken_expected(p_queue integer) RETURNS boolean
FUNCTION taken_fences(p_ids int8multirange) RETURNS int8multirange
FUNCTION taken_first(p_queue slipring.queue, p_tables text[], p_lane bigint, p_todo int8multirange, OUT message slipring.message, OUT id bigint, OUT region int8multirange) RETURNS record
FUNCTION taken_fold() RETURNS trigger SECURITY DEFINER
FUNCTION taken_generations() RETURNS bigint
FUNCTION taken_keep(INOUT p_state slipring.state, p_lanes bigint[], p_mine int8multirange[], OUT lost boolean) RETURNS record
FUNCTION taken_lane(p_queue slipring.queue, p_tables text[], p_lane bigint, p_todo int8multirange, p_want bigint, p_all boolean, OUT free int8multirange, OUT n bigint, OUT ended boolean) RETURNS record
FUNCTION taken_look(p_tables text[], p_low text, p_high text) RETURNS text
FUNCTION taken_may(p_state slipring.state) RETURNS boolean
FUNCTION taken_next(p_queue slipring.queue) RETURNS bigint
FUNCTION taken_of_pack(p_queue slipring.queue, p_tables text[], p_lane bigint, p_id bigint, p_part int8range, p_want bigint) RETURNS int8multirange
FUNCTION taken_packs(p_queue slipring.queue, p_tables text[], p_lane bigint, p_todo int8multirange, p_want bigint, p_rows bigint, p_skip bigint, p_all boolean, OUT n bigint, OUT there int8range, OUT others int8multirange) RETURNS record
FUNCTION taken_read(p_queue slipring.queue, p_state slipring.state) RETURNS slipring.state
FUNCTION taken_singles(p_tables text[], p_lane bigint, p_todo int8multirange, p_ids bigint[], p_want bigint, OUT n bigint, OUT last bigint, OUT others int8multirange) RETURNS record
FUNCTION taken_spans(p_taken int8multirange) RETURNS TABLE(first bigint, past bigint)
FUNCTION taken_useful(p_queue slipring.queue) RETURNS boolean
FUNCTION tally_fold(p_queue slipring.queue, p_least integer DEFAULT 100) RETURNS void
FUNCTION text_is_utf8(p_text text) RETURNS boolean
FUNCTION ticket(p_queue integer, p_several boolean) RETURNS regclass
FUNCTION timeline() RETURNS bigint
FUNCTION to_owner(p_relations text[]) RETURNS void
FUNCTION transaction_key(p_secret bytea, p_use text) RETURNS bigint
FUNCTION turn_over(p_began timestamp with time zone, p_bytes bigint DEFAULT 0) RETURNS boolean
FUNCTION turn_wait(p_queue integer, p_now_ms bigint, p_most_ms bigint) RETURNS integer
FUNCTION waited_ms(p_since timestamp with time zone, p_before_ms bigint) RETURNS bigint
