// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { fingerprints, type Invitation, readInvitation, writeInvitation } from "./invitation.js"

const invitation: Invitation = {
  mesh: "merlon",
  domain: "merlon.dev",
  controlPlane: "10.0.0.1:15012",
  namespace: "foo",
  name: "web-1",
  serviceAccount: "web",
  trustBundle: "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n",
  token: "secret",
}

it("is one word that contains everything", () => {
  const word = writeInvitation(invitation)
  expect(word).toMatch(/^merlon-invitation\.[\w-]+$/)
  expect(readInvitation(`  ${word}\n`)).toEqual(invitation)
})

it.each([
  ["", "is no invitation"],
  ["merlon-invitation.%%%", "is not whole"],
  [writeInvitation(invitation).slice(0, 60), "is not whole"],
  [writeInvitation({ ...invitation, token: "" }), "has no `token`"],
  [`merlon-invitation.${Buffer.from("[]").toString("base64url")}`, "has no `mesh`"],
])("is rejected if it is invalid: `%s`", (word, message) => {
  expect(() => readInvitation(word)).toThrow(message)
})

// The author of an invitation may try to write other files, or show another text, than its user expects.
it.each([
  ["name", "../../etc/merlon"],
  ["name", "/etc/merlon"],
  ["name", ".."],
  ["name", "web\u001b[2J"],
  ["namespace", "foo/../bar"],
  ["serviceAccount", "web\nweb"],
  ["controlPlane", "10.0.0.1:15012\u001b[1A"],
  ["serverName", "a b"],
] as const)("is rejected where `%s` is `%s`", (field, value) => {
  const word = writeInvitation({ ...invitation, [field]: value })
  expect(() => readInvitation(word)).toThrow(`the invitation's \`${field}\` is none`)
})

it("rejects certificates that cannot be read", () => {
  expect(() => fingerprints(invitation.trustBundle)).toThrow("no certificate that can be read")
})
