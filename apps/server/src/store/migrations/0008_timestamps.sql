CREATE TABLE "timestamp_authority" (
	"chain_id" text PRIMARY KEY NOT NULL,
	"uri" text NOT NULL,
	"certificates" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "outside_entry" ADD COLUMN "timestamp" text DEFAULT '' NOT NULL;