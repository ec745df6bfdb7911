import fc from "fast-check"
import { expect, test } from "vitest"
import { forwardedNodes, forwardsHttps, readIpAddress, readNode } from "./caller-address.ts"

const ADDRESSES: readonly (readonly [written: string, text: string, network: string])[] = [
  ["203.0.113.7", "203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7", "203.0.113.7"],
  ["::FFFF:cb00:7107", "203.0.113.7", "203.0.113.7"],
  ["0:0:0:0:0:ffff:203.0.113.7", "203.0.113.7", "203.0.113.7"],
  ["::ffff:0.0.0.1", "0.0.0.1", "0.0.0.1"],
  ["2001:DB8:0:0:0:0:0:1", "2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8::2:0:0:1", "2001:db8::2:0:0:1", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80::1", "fe80:0:0:0::/64"],
  ["::1", "::1", "0:0:0:0::/64"],
  ["::", "::", "0:0:0:0::/64"],
  ["::203.0.113.7", "::cb00:7107", "0:0:0:0::/64"],
]

test.each(ADDRESSES)("%s is %s and counts as %s", (written, text, network) => {
  expect(readIpAddress(written)).toEqual({ text, network })
})

test.each(["", "unknown", "203.0.113", "203.0.113.007", "203.0.113.7:80", "[::1]", "1::2::3", "::g", "%eth0", "_x"])(
  "%j is no address",
  written => {
    expect(readIpAddress(written)).toBeUndefined()
  },
)

test("an address is one address in every spelling: upper case, and as it was read before", () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), written => {
      const read = readIpAddress(written)
      expect(read).toBeDefined()
      expect(readIpAddress(written.toUpperCase())).toEqual(read)
      expect(readIpAddress(read?.text ?? "")).toEqual(read)
    }),
  )
})

test.each([
  ["as nginx, HAProxy, AWS and Google write it", "203.0.113.30", "203.0.113.30"],
  ["with a port, as Azure and IIS write it", "203.0.113.30:51234", "203.0.113.30"],
  ["with spaces around it", "  203.0.113.30:443 ", "203.0.113.30"],
  ["of IPv6", "2001:db8::1", "2001:db8::1"],
  ["of IPv6 with brackets", "[2001:db8::1]", "2001:db8::1"],
  ["of IPv6 with brackets and port", "[2001:DB8::1]:443", "2001:db8::1"],
  ["of IPv6 with a zone, as IIS writes it", "[fe80::1%12]:51234", "fe80::1"],
  ["of IPv6 with a zone as in an address of the web", "[fe80::1%25eth0]:443", "fe80::1"],
  ["of IPv6 with a zone alone", "fe80::1%eth0", "fe80::1"],
  ["of IPv6 with a port and without brackets", "2001:db8:0:0:0:0:0:1:51234", "2001:db8::1"],
  ["of IPv4 in IPv6 form with a port", "[::ffff:203.0.113.30]:80", "203.0.113.30"],
  ["with an obfuscated port", "203.0.113.30:_http", "203.0.113.30"],
])("an address of a proxy's header, %s", (_how, written, text) => {
  expect(readNode(written)?.text).toBe(text)
})

test.each([
  "",
  "unknown",
  "_hidden",
  "unknown:80",
  "-",
  "localhost",
  "203.0.113.30:",
  "203.0.113.30:port",
  "[::1",
  "::1]:80",
])("%j of a proxy's header cannot be read", written => {
  expect(readNode(written)).toBeUndefined()
})

test.each<readonly [what: string, header: string, nodes: readonly string[]]>([
  ["one element", "for=203.0.113.30", ["203.0.113.30"]],
  ["names in any case, with more parameters", "By=10.0.0.1; For=203.0.113.30;proto=https", ["203.0.113.30"]],
  ["IPv6, which is quoted", 'for="[2001:db8::1]:443"', ["[2001:db8::1]:443"]],
  ["several, the nearest first", "for=203.0.113.1, for=10.0.0.1;by=10.0.0.2", ["10.0.0.1", "203.0.113.1"]],
  ["an element without for", "for=203.0.113.1, proto=https", ["", "203.0.113.1"]],
  ["an element with two", "for=203.0.113.1;for=203.0.113.2", [""]],
  ["separators in a quoted host", 'for=203.0.113.1;host="a,for=9.9.9.9;for=9.9.9.8"', ["203.0.113.1"]],
  ["escapes in a quoted host", 'host="a\\",for=9.9.9.9,\\"b";for=203.0.113.1', ["203.0.113.1"]],
])("Forwarded: %s", (_what, header, nodes) => {
  expect(forwardedNodes(header)).toEqual(nodes)
})

test("nothing that a caller wrote to the left of a proxy's element of Forwarded changes that element", () => {
  const written = fc.string({
    unit: fc.constantFrom('"', "\\", ",", ";", "=", " ", "for", "9.9.9.9", "a"),
    maxLength: 20,
  })
  fc.assert(
    fc.property(written, fc.constantFrom("203.0.113.1", '"[2001:db8::1]:443"', '"203.0.113.1"'), (before, node) => {
      const [last] = forwardedNodes(`${before}, for=${node};proto=https;host="a\\"b,c"`)
      expect(last).toBe(node.replaceAll('"', ""))
    }),
  )
})

test("Forwarded says https in any element, and in no other word", () => {
  expect(forwardsHttps("for=203.0.113.1;proto=https")).toBe(true)
  expect(forwardsHttps('for=203.0.113.1;Proto="HTTPS", for=10.0.0.1')).toBe(true)
  for (const header of ["", "for=https", 'host="a;proto=https"', "proto=httpsx"])
    expect(forwardsHttps(header)).toBe(false)
})
