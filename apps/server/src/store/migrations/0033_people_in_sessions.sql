ALTER TABLE "admin_event" ADD COLUMN "actor_issuer" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "admin_event" ADD COLUMN "actor_subject" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "session" ADD COLUMN "issuer" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "session" ADD COLUMN "subject" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "session" ADD COLUMN "display_name" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "session" ADD COLUMN "groups" text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX "session_person" ON "session" USING btree ("issuer","subject","opened_at");--> statement-breakpoint
ALTER TABLE "session" ADD CONSTRAINT "session_holder" CHECK (octet_length("session"."secret_hash") = case when "session"."issuer" = '' then 32 else 0 end);