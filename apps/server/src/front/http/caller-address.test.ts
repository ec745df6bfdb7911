import fc from "fast-check"
import { expect, test } from "vitest"
import { readIpAddress } from "./caller-address.ts"

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
