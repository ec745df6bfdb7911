/** Documents that are no records, in the chains of their tenants: each takes the next place of its chain. docs/formats.md section 7.3. */
import { canonicalUtf8, type WrittenTexts } from "@runseal/canonical"
import type { Anchor, ChainLeaf } from "@runseal/core/artifacts/anchor"
import type { ChainForm } from "@runseal/core/formulas/chain-forms"
import { leafBytes, leafDigest } from "@runseal/core/formulas/leaves"
import { moveHead, nextPlace, type TenantHead, tenantOf } from "@runseal/core/seal/tenant-chain"
import { VERDICTS } from "@runseal/core/verify/report"
import { packBundle } from "../store/tables/bundle-text.ts"
import { leafed, type Part, type Round, type Sealed, withoutLeaf } from "./batch.ts"

/** A document with its place in the log and in its chain. */
type Chained<Document> = {
  readonly document: Document
  readonly tenant_ordinal: number
  readonly leaf_digest: string
  readonly log_index: number
  /** The document as it is stored. */
  readonly packed: Uint8Array
}

/** Kinds of such documents, and what the verifier says of each. */
const VERDICT_OF = { opening: VERDICTS.opening, end: VERDICTS.permit_end, event: VERDICTS.admin_event } as const

/** What is to be sealed, and of which form. */
type ChainDraft<Body, Leaf extends ChainLeaf, Document extends Body & Anchor<Leaf>> = {
  readonly place: keyof typeof VERDICT_OF
  readonly form: ChainForm<Body, Leaf, Document>
  readonly tenant_id: string
  /** The document before its own hash. @param head of its chain */
  readonly bodyAt: (head: TenantHead) => Body
  /** Texts of its sections that were written before. */
  readonly texts?: WrittenTexts
  readonly sealed: (chained: Chained<Document>) => Sealed
}

export const chainPart = <Body, Leaf extends ChainLeaf, Document extends Body & Anchor<Leaf>>(
  round: Round,
  { place, form, tenant_id, bodyAt, texts, sealed }: ChainDraft<Body, Leaf, Document>,
): Part => ({
  place,
  before: () =>
    withoutLeaf(() => {
      const head = tenantOf(round.tenants, tenant_id)
      const body = bodyAt(head)
      const at = nextPlace(head)
      const leaf = form.leaf(body, at)
      const leaf_digest = leafDigest(leaf)
      moveHead(round.tenants, head, leaf_digest, 0)
      return leafed(round, { leaf, bytes: leafBytes(leaf) }, appended => () => {
        const document = form.document(body, round.anchor(appended))
        const text = canonicalUtf8(document, texts)
        const chained = { document, tenant_ordinal: at.tenant_ordinal, leaf_digest, log_index: appended.index }
        return {
          document: { text, verdict: VERDICT_OF[place], pack: true },
          seal: packed => sealed({ ...chained, packed: packed ?? packBundle(text) }),
        }
      })
    }),
})
