// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { describe, expect, it } from "vitest"
import type { AdmissionRequest } from "./review.js"
import { validateRevocations } from "./validate-revocations.js"

const names = meshNames()
const ID = "spiffe://cluster.local/ns/foo/sa/a"
const list = (data: object, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "merlon-revocations", namespace: "merlon-system" },
  data,
  ...more,
})

function question(object: object, more: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    uid: "1",
    operation: "CREATE",
    group: "",
    version: "v1",
    kind: "ConfigMap",
    namespace: "merlon-system",
    name: "merlon-revocations",
    subresource: "",
    user: "jane",
    dryRun: false,
    object,
    oldObject: undefined,
    ...more,
  }
}

describe("the revocation list", () => {
  it.each([{}, { identities: `${ID}, ${ID}b` }, { serials: "- 4f:0a\n" }])("may be stored as %j", data => {
    expect(validateRevocations(question(list(data)), names)).toEqual({})
  })

  it.each([
    [{ identities: "everyone" }, "data.identities", "`everyone` is invalid and revokes nothing"],
    [{ identities: ID, serials: "4f 0a" }, "data.serials", "`4f 0a` is invalid and revokes nothing"],
    [{ identites: ID }, "data.identites", "write `identities`"],
  ])("is rejected as %j, with the field", (data, field, message) => {
    const { rejected } = validateRevocations(question(list(data)), names)
    expect(rejected).toMatchObject({ code: 422, reason: "Invalid", message: expect.stringContaining(message) })
    expect(rejected?.details?.causes).toEqual([expect.objectContaining({ field })])
  })

  it("is rejected with binary data, which is not read", () => {
    const { rejected } = validateRevocations(question(list({}, { binaryData: { identities: "eA==" } })), names)
    expect(rejected?.message).toContain("`binaryData.identities` is unknown")
  })

  it("may be labelled if it is unreadable, but not replaced by another unreadable one", () => {
    const bad = list({ identities: "everyone" })
    const update = { operation: "UPDATE", oldObject: bad } as const
    expect(validateRevocations(question({ ...bad, metadata: {} }, update), names)).toEqual({
      warnings: [expect.stringContaining("`everyone` is invalid and revokes nothing")],
    })
    expect(validateRevocations(question(list({ identities: "nobody" }), update), names).rejected).toBeDefined()
  })

  it("is one ConfigMap of the root namespace, and others are ignored", () => {
    const bad = list({ identities: "everyone" })
    expect(validateRevocations(question(bad, { name: "other" }), names)).toEqual({})
    expect(validateRevocations(question(bad, { namespace: "foo" }), names)).toEqual({})
    expect(validateRevocations(question(bad, { operation: "DELETE" }), names)).toEqual({})
  })
})
