CREATE TABLE "session" (
	"token_hash" "bytea" PRIMARY KEY NOT NULL,
	"secret_hash" "bytea" NOT NULL,
	"opened_at" bigint NOT NULL,
	"last_used_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE INDEX "session_secret_hash" ON "session" USING btree ("secret_hash","opened_at");--> statement-breakpoint
CREATE INDEX "session_last_used_at" ON "session" USING btree ("last_used_at");