/** Documents that are no records, in the chains of their tenants: each takes the next place of its chain. docs/formats.md section 7.3. */
import { canonicalUtf8, type WrittenTexts } from "@runseal/canonical"
import type { Anchor, ChainLeaf } from "@runseal/core/artifacts/anchor"
import type { ChainForm } from "@runseal/core/formulas/chain-forms"
import { leafBytes, leafDigest } from "@runseal/core/formulas/leaves"
import { moveHead, nextPlace, type TenantHead, tenantOf } from "@runseal/core/seal/tenant-chain"
import type { DocumentKind } from "@runseal/core/verify/kind"
import type { Tenant } from "@runseal/core/wire/submission"
import { packBundle } from "../store/tables/bundle-text.ts"
import type { NewDocumentRow } from "../store/tables/documents-table.ts"
import { type ItemPart, leafed, type Round, type Sealed, withoutLeaf } from "./batch.ts"

/** What is to be sealed, and of which form. */
type ChainDraft<Body, Leaf extends ChainLeaf, Document extends Body & Anchor<Leaf>> = {
  readonly place: ItemPart["place"]
  readonly kind: DocumentKind
  readonly form: ChainForm<Body, Leaf, Document>
  readonly tenant: Tenant
  /** The document before its own hash. @param head of its chain */
  readonly bodyAt: (head: TenantHead) => Body
  /** Texts of its sections that were written before. */
  readonly texts?: WrittenTexts
  /** When it was admitted or sealed, RFC 3339. */
  readonly clockOf: (document: Document) => string
  /** What is written beside its document, and how it is answered. */
  readonly sealed: (document: Document, row: NewDocumentRow) => Sealed
}

export const chainPart = <Body, Leaf extends ChainLeaf, Document extends Body & Anchor<Leaf>>(
  round: Round,
  { place, kind, form, tenant, bodyAt, texts, clockOf, sealed }: ChainDraft<Body, Leaf, Document>,
): ItemPart => ({
  place,
  before: () =>
    withoutLeaf(() => {
      const head = tenantOf(round.tenants, tenant.tenant_id)
      const body = bodyAt(head)
      const at = nextPlace(head)
      const leaf = form.leaf(body, at)
      const leaf_digest = leafDigest(leaf)
      moveHead(round.tenants, head, leaf_digest, 0)
      return leafed(round, { leaf, bytes: leafBytes(leaf) }, appended => () => {
        const document = form.document(body, round.anchor(appended))
        const text = canonicalUtf8(document, texts)
        return {
          document: { text, verdict: kind.verdict, pack: true },
          seal: packed => {
            const row = {
              log_index: appended.index,
              owner: tenant.owner,
              chain_ordinal: at.tenant_ordinal,
              kind: kind.document,
              instant: Date.parse(clockOf(document)),
              leaf_digest,
              packed: packed ?? packBundle(text),
            }
            const { rows, ...answered } = sealed(document, row)
            return { rows: { ...rows, document: row }, ...answered }
          },
        }
      })
    }),
})
