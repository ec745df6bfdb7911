CREATE TABLE "run_term" (
	"owner" bigint NOT NULL,
	"field" smallint NOT NULL,
	"term" bigint NOT NULL,
	"owner_ordinal" bigint NOT NULL,
	CONSTRAINT "run_term_owner_field_term_owner_ordinal_pk" PRIMARY KEY("owner","field","term","owner_ordinal")
);
