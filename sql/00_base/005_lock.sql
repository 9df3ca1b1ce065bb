-- Keeps writers out until all of this is here. Triggers lock their tables one by one, in the order
-- of the files; a writer who has one of these and comes for another would be cancelled for a
-- deadlock, or the upgrade would. This is the order of the writers. No recall waits for it.
LOCK TABLE import, memory, mention, trace, profile IN SHARE ROW EXCLUSIVE MODE;
