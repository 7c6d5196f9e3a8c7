// SPDX-License-Identifier: Apache-2.0
//
// A CRD is established when its names are free, waits while another CRD has one of them, and is deleted after its
// objects.

import { eventually } from "@merlon/wire/testing"
import { afterEach, beforeEach, describe, expect, it, test } from "vitest"
import { RegistryBench } from "../testing/registry.js"
import { asArray, asObject, asString, dig, type JsonObject } from "../value.js"
import { stringify } from "../wire/json.js"
import { CrdController } from "./crds.js"

const CRDS = { group: "apiextensions.k8s.io", plural: "customresourcedefinitions" }
const PREFIX = "/registry/apiextensions.k8s.io/customresourcedefinitions/"

let bench: RegistryBench
beforeEach(async () => {
  bench = await RegistryBench.start()
  await bench.run(new CrdController(bench.registry))
})
afterEach(() => bench.stop())

const nameOf = (plural: string): string => `${plural}.example.com`

function define(plural: string, names: JsonObject): Promise<JsonObject> {
  const schema = { openAPIV3Schema: { type: "object" } }
  return bench.create(CRDS, "", {
    metadata: { name: nameOf(plural) },
    spec: {
      ...{ group: "example.com", scope: "Namespaced", names: { plural, ...names } },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  })
}

/** Conditions as `type=status reason`. */
async function conditions(plural: string): Promise<readonly string[]> {
  const found = (await bench.store.get(`${PREFIX}${nameOf(plural)}`))?.object
  return asArray(dig(found ?? {}, "status", "conditions"))
    .map(asObject)
    .map(({ type, status, reason }) => `${asString(type)}=${asString(status)} ${asString(reason)}`)
}

const becomes = (plural: string, ...expected: readonly string[]): Promise<void> =>
  eventually(async () => (await conditions(plural)).join() === expected.join(), {
    what: `${plural} has the conditions ${expected.join(", ")}`,
  })

const ESTABLISHED = ["NamesAccepted=True NoConflicts", "Established=True InitialNamesAccepted"]

describe("a CRD", () => {
  it("is established when it is created", async () => {
    await define("apples", { kind: "Apple", singular: "apple", shortNames: ["ap"] })
    await becomes("apples", ...ESTABLISHED)
  })

  test.each<[string, string, JsonObject]>([
    ["PluralConflict", "apple", { kind: "Pear", singular: "pear" }],
    ["SingularConflict", "pears", { kind: "Pear", singular: "ap" }],
    ["ShortNamesConflict", "pears", { kind: "Pear", singular: "pear", shortNames: ["ap"] }],
    ["KindConflict", "pears", { kind: "Apple", singular: "pear", listKind: "PearList" }],
    ["ListKindConflict", "pears", { kind: "Pear", singular: "pear", listKind: "AppleList" }],
  ])(
    "waits with %s while another CRD has the name, and is accepted when that CRD is deleted",
    async (reason, plural, names) => {
      await define("apples", { kind: "Apple", singular: "apple", shortNames: ["ap"] })
      await becomes("apples", ...ESTABLISHED)
      await define(plural, names)
      await becomes(plural, `NamesAccepted=False ${reason}`, "Established=False NotAccepted")
      await bench.remove(CRDS, "", nameOf("apples"))
      await eventually(async () => (await conditions(plural)).includes("Established=True InitialNamesAccepted"), {
        what: `${plural} is established`,
      })
    },
  )

  it("is deleted after its objects, and its conditions report the deletion", async () => {
    await define("apples", { kind: "Apple", singular: "apple" })
    await becomes("apples", ...ESTABLISHED)
    const key = "/registry/example.com/apples/default/one"
    const metadata = { name: "one", namespace: "default", uid: "u", finalizers: ["example.com/held"] }
    const apple = { apiVersion: "example.com/v1", kind: "Apple", metadata }
    await bench.store.commit([], [{ key, value: stringify(apple) }])
    await bench.remove(CRDS, "", nameOf("apples"))
    await eventually(async () => (await conditions("apples")).includes("Terminating=True InstanceDeletionInProgress"), {
      what: "apples is terminating",
    })
    expect(await bench.store.get(key)).toBeDefined()
    await bench.store.commit([], [{ key, delete: true }])
    await eventually(async () => (await bench.store.get(`${PREFIX}${nameOf("apples")}`)) === undefined, {
      what: "the definition of apples is deleted",
    })
  })
})
