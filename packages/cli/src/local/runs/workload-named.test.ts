// SPDX-License-Identifier: Apache-2.0
import { expect, it, test } from "vitest"
import type { WorkloadRecord } from "../record/mesh-record.js"
import { workloadNamed } from "./workload-named.js"

const place = { address: "127.1.0.1", xserver: 15_080, admin: 15_000, health: 15_021, application: 8_080 }
const workload = (namespace: string, name: string): WorkloadRecord => ({
  namespace,
  name,
  serviceAccount: "default",
  serves: true,
  place,
})
const all = [
  workload("app", "web-v1-1"),
  workload("app", "web-v2-1"),
  workload("app", "web"),
  workload("foo", "web-v1-1"),
]

test.each([
  ["web", "app", "app/web"],
  ["web-v2", "app", "app/web-v2-1"],
  ["web-v2", undefined, "app/web-v2-1"],
  ["w", "foo", "foo/web-v1-1"],
])("`%s` in %s is %s", (word, namespace, expected) => {
  const { namespace: found, name } = workloadNamed(all, word, namespace)
  expect(`${found}/${name}`).toBe(expected)
})

test.each([
  ["web-v", "app", /may be web-v1-1 in app, web-v2-1 in app/],
  ["web-v1-1", undefined, /may be web-v1-1 in app, web-v1-1 in foo/],
  ["db", "app", /workload `db` not found in `app`; there are web-v1-1 in app/],
  ["", "app", /workload `` not found in `app`/],
])("`%s` in %s is rejected with the known workloads", (word, namespace, message) => {
  expect(() => workloadNamed(all, word, namespace)).toThrow(message)
})

it("says so if there are no samples", () => {
  expect(() => workloadNamed([], "web", undefined)).toThrow(/without samples/)
})
