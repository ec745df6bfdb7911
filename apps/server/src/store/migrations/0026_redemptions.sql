ALTER TABLE "permit" ADD COLUMN "redemption_entry" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "permit" ADD COLUMN "redemption_unknown" boolean DEFAULT false NOT NULL;