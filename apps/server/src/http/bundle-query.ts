/** What a bundle is asked for with. docs/api.md, "GET /runs/{id}/artifacts". */
import {
  BUNDLE_ADDITIONS,
  BUNDLE_FORM_DEFAULT,
  BUNDLE_FORMS,
  type BundleAddition,
  type BundleForm,
  REPORT_FORMAT_DEFAULT,
  REPORT_FORMATS,
  type ReportFormat,
} from "@runseal/core/wire/run-summaries"
import * as v from "valibot"
import { readQuery } from "./query.ts"

const opt = v.exactOptional

/** `with` of a bundle that is served. */
export const bundleQuerySchema = v.object({
  with: opt(
    v.pipe(
      v.picklist(BUNDLE_ADDITIONS, `must be ${BUNDLE_ADDITIONS.join(", ")}`),
      v.description(
        "witnessed: with the newest checkpoint of the log that witnesses cosigned, once its tree has all log entries of the record.",
      ),
    ),
  ),
})

/** `form` and `with` of `GET /runs/{id}/artifacts`. */
export const artifactsQuerySchema = v.object({
  ...bundleQuerySchema.entries,
  form: opt(
    v.pipe(
      v.picklist(BUNDLE_FORMS, `must be one of ${BUNDLE_FORMS.join(", ")}`),
      v.metadata({ default: BUNDLE_FORM_DEFAULT }),
      v.description("sealed: byte for byte as sealed; full: with every derived section and leaf written out."),
    ),
  ),
})

/** The requested form of a bundle, and what it is asked for with. */
export function readBundleQuery(url: string): { readonly form: BundleForm; readonly with: BundleAddition | undefined } {
  const { form = BUNDLE_FORM_DEFAULT, with: addition } = readQuery(artifactsQuerySchema, url)
  return { form, with: addition }
}

/** What a public bundle is asked for with. */
export const readPublicQuery = (url: string): BundleAddition | undefined => readQuery(bundleQuerySchema, url).with

/** `format` and `with` of `GET /runs/{id}/report.pdf`. */
export const reportQuerySchema = v.object({
  ...bundleQuerySchema.entries,
  format: opt(
    v.pipe(
      v.picklist(REPORT_FORMATS, `must be one of ${REPORT_FORMATS.join(", ")}`),
      v.metadata({ default: REPORT_FORMAT_DEFAULT }),
    ),
  ),
})

/** The requested format of a report, and what the bundle in it is asked for with. */
export function readReportQuery(url: string): {
  readonly format: ReportFormat
  readonly with: BundleAddition | undefined
} {
  const { format = REPORT_FORMAT_DEFAULT, with: addition } = readQuery(reportQuerySchema, url)
  return { format, with: addition }
}
