CREATE TABLE "heads_folder" (
	"folder_id" text PRIMARY KEY NOT NULL,
	"label" text NOT NULL,
	"registered_at" bigint NOT NULL,
	"system_id" text NOT NULL,
	"timeline" bigint NOT NULL,
	"table_id" text NOT NULL,
	"term" bigint NOT NULL,
	"size" bigint NOT NULL,
	"synchronous" boolean NOT NULL,
	"closed" boolean NOT NULL
);
