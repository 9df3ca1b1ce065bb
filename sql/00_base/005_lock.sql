-- Keeps writers out until all of this is installed. Triggers lock their tables one by one, in the
-- order of the files. A writer who holds one of these and waits for another would be cancelled for
-- a deadlock, or the upgrade would. This is the writers' order: what changes configuration ends
-- with table mode. No recall waits for it.
LOCK TABLE import, memory, mention, trace, profile, embedding_model, kind, mode_weight,
    redaction_rule, setting, synonym, mode IN SHARE ROW EXCLUSIVE MODE;
