CREATE TABLE "outside_entry" (
	"log_index" bigint NOT NULL,
	"log_id" text NOT NULL,
	"entry" text NOT NULL,
	CONSTRAINT "outside_entry_log_index_log_id_pk" PRIMARY KEY("log_index","log_id")
);
--> statement-breakpoint
CREATE TABLE "outside_log" (
	"log_id" text PRIMARY KEY NOT NULL,
	"host" text NOT NULL,
	"spki" text NOT NULL,
	"valid_from" bigint NOT NULL,
	"first_index" bigint NOT NULL,
	"next_index" bigint NOT NULL,
	"fault" text NOT NULL,
	"failing_since" bigint NOT NULL,
	"holder" text NOT NULL,
	"lease_until" bigint NOT NULL
);
