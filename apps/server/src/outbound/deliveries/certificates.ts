/** Certificates by which a receiver is verified. */
import { X509Certificate } from "node:crypto"

const PEM = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

/** Whether a text is one certificate in PEM or several, and nothing else. Node ignores what it cannot read in such a text. */
export function areCertificates(text: string): boolean {
  const found = text.match(PEM) ?? []
  return found.length > 0 && text.replaceAll(PEM, "").trim() === "" && found.every(isCertificate)
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}
