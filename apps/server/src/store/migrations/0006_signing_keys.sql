CREATE TABLE "key_change" (
	"log_index" bigint PRIMARY KEY NOT NULL,
	"leaf" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "signing_key" (
	"key_id" text PRIMARY KEY NOT NULL,
	"role" text NOT NULL,
	"spki" "bytea" NOT NULL,
	"valid_from" bigint NOT NULL,
	"valid_to" bigint NOT NULL,
	"revoked_from" bigint NOT NULL,
	CONSTRAINT "signing_key_role" CHECK ("signing_key"."role" in ('service', 'log', 'checkpoint'))
);
