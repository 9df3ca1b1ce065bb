-- Undoes 0009_redaction.sql.
DELETE FROM redaction_rule;
