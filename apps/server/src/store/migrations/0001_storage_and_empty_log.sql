-- A bundle is compressed with lz4 where this PostgreSQL has it (14 and later, if built in) and not at all elsewhere: pglz
-- costs more time than the sync of the whole batch.
DO $$
BEGIN
	EXECUTE 'ALTER TABLE "run" ALTER COLUMN "bundle" SET COMPRESSION lz4';
EXCEPTION WHEN feature_not_supported OR syntax_error OR invalid_parameter_value THEN
	ALTER TABLE "run" ALTER COLUMN "bundle" SET STORAGE EXTERNAL;
END
$$;
--> statement-breakpoint
-- Hashes do not compress.
ALTER TABLE "log_tile" ALTER COLUMN "hashes" SET STORAGE EXTERNAL;
--> statement-breakpoint
-- The log without entries: its root is SHA-256 of nothing (RFC 6962 section 2.1), its first run is number 1.
INSERT INTO "log_head" ("size", "root", "log_time", "next_run_id", "checkpoint", "epoch")
VALUES (0, '\xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 0, 1, '', 0);
