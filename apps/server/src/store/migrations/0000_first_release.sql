CREATE TABLE "deployment" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"origin" text NOT NULL,
	"tree_id" text NOT NULL,
	"service_key_id" text NOT NULL,
	"log_key_id" text NOT NULL,
	"checkpoint_key_id" text NOT NULL,
	"genesis_at" bigint NOT NULL,
	CONSTRAINT "deployment_one_row" CHECK ("deployment"."only")
);
--> statement-breakpoint
CREATE TABLE "log_entry" (
	"log_index" bigint PRIMARY KEY NOT NULL,
	"body" text NOT NULL,
	"integrated_time" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_head" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"size" bigint NOT NULL,
	"root" "bytea" NOT NULL,
	"log_time" bigint NOT NULL,
	"next_run_id" bigint NOT NULL,
	"checkpoint" text NOT NULL,
	"epoch" bigint NOT NULL,
	CONSTRAINT "log_head_one_row" CHECK ("log_head"."only")
);
--> statement-breakpoint
CREATE TABLE "log_tile" (
	"level" bigint NOT NULL,
	"tile_index" bigint NOT NULL,
	"hashes" "bytea" NOT NULL,
	"root" "bytea" NOT NULL,
	CONSTRAINT "log_tile_level_tile_index_pk" PRIMARY KEY("level","tile_index"),
	CONSTRAINT "log_tile_full" CHECK (octet_length("log_tile"."hashes") = 8192)
);
--> statement-breakpoint
CREATE TABLE "run" (
	"run_id" bigint PRIMARY KEY NOT NULL,
	"owner" bigint NOT NULL,
	"owner_ordinal" bigint NOT NULL,
	"created_at" bigint NOT NULL,
	"outcome_kind" text NOT NULL,
	"error_stage" text NOT NULL,
	"program_id" text NOT NULL,
	"route_id" text NOT NULL,
	"manifest_hash" text NOT NULL,
	"execution_region" text NOT NULL,
	"duration_us" bigint NOT NULL,
	"bundle" text NOT NULL,
	"disclosure_seed" "bytea" NOT NULL,
	CONSTRAINT "run_owner_ordinal" UNIQUE("owner","owner_ordinal")
);
--> statement-breakpoint
CREATE TABLE "tenant" (
	"tenant_id" text PRIMARY KEY NOT NULL,
	"owner" bigint NOT NULL,
	"salt" text NOT NULL,
	"record_count" bigint NOT NULL,
	"head" text NOT NULL,
	CONSTRAINT "tenant_owner_unique" UNIQUE("owner")
);
--> statement-breakpoint
CREATE TABLE "tenant_window" (
	"tenant_id" text NOT NULL,
	"window_seconds" bigint NOT NULL,
	"window_start" bigint NOT NULL,
	"total" bigint NOT NULL,
	CONSTRAINT "tenant_window_tenant_id_window_seconds_window_start_pk" PRIMARY KEY("tenant_id","window_seconds","window_start"),
	CONSTRAINT "tenant_window_exact" CHECK ("tenant_window"."total" between 0 and 9007199254740991)
);
--> statement-breakpoint
CREATE TABLE "token_charge" (
	"charge_id" text PRIMARY KEY NOT NULL,
	"tenant_id" text NOT NULL,
	"window_seconds" bigint NOT NULL,
	"window_start" bigint NOT NULL,
	"tokens" bigint NOT NULL,
	"total_after" bigint NOT NULL,
	"charged_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE INDEX "run_manifest_hash" ON "run" USING btree ("owner","manifest_hash" text_pattern_ops);--> statement-breakpoint
CREATE INDEX "run_program" ON "run" USING btree ("owner","program_id");--> statement-breakpoint
CREATE INDEX "run_route" ON "run" USING btree ("owner","route_id");--> statement-breakpoint
CREATE INDEX "run_created" ON "run" USING btree ("owner","created_at");--> statement-breakpoint
CREATE INDEX "run_refused" ON "run" USING btree ("owner","outcome_kind") WHERE "run"."outcome_kind" <> 'ok';