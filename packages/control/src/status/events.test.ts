// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { ApiError } from "../kubernetes/client.js"
import { ManualClock, settle } from "../observe/testing/manual-clock.js"
import { MemoryClient } from "../observe/testing/memory-client.js"
import { EventRecorder } from "./events.js"

const involved = {
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "RequestAuthentication",
  namespace: "foo",
  name: "jwt",
  uid: "u",
}

function rig(client = new MemoryClient()) {
  const clock = new ManualClock()
  const warnings: string[] = []
  const options = {
    client,
    component: "merlon-control",
    instance: "c-0",
    warn: (text: string) => warnings.push(text),
    clock,
  }
  const recorder = new EventRecorder(options)
  return { client, clock, recorder, warnings, stored: () => [...client.objects.values()] }
}

it("writes at once, in the form that kubectl describe shows", async () => {
  const { recorder, stored } = rig()
  recorder.record(involved, "JwksFetchFailed", "answered\n500")
  await settle()
  expect(stored()).toMatchObject([
    {
      kind: "Event",
      metadata: { namespace: "foo", name: expect.stringMatching(/^jwt\.[0-9a-f]{16}$/) },
      involvedObject: involved,
      type: "Warning",
      reason: "JwksFetchFailed",
      message: "answered 500",
      count: 1,
      firstTimestamp: "2026-01-01T00:00:00Z",
      source: { component: "merlon-control" },
      reportingInstance: "c-0",
    },
  ])
})

it("counts repetitions in one event, written at most every half minute", async () => {
  const { client, clock, recorder, stored } = rig()
  for (let second = 0; second < 60; second++) {
    recorder.record(involved, "JwksFetchFailed", `try ${second}`)
    await clock.advance(1_000)
  }
  await clock.advance(60_000)
  expect(stored()).toHaveLength(1)
  expect(stored()[0]).toMatchObject({ count: 60, message: "try 59", lastTimestamp: "2026-01-01T00:00:59Z" })
  expect(client.writes.filter(({ verb }) => verb === "patch")).toHaveLength(2)
  expect(clock.pending).toBe(0)
})

it("continues counting after a restart, and starts again if the event has expired", async () => {
  const { client, recorder, stored } = rig()
  recorder.record(involved, "ProxyRejected", "one")
  await settle()
  const again = rig(client)
  again.recorder.record(involved, "ProxyRejected", "two")
  await settle()
  expect(stored()).toMatchObject([{ count: 2, message: "two" }])
  client.objects.clear()
  again.recorder.record(involved, "ProxyRejected", "three")
  await again.clock.advance(30_000)
  expect(stored()).toMatchObject([{ count: 1, message: "three" }])
})

it("counts other reasons and other objects separately", async () => {
  const { recorder, stored } = rig()
  recorder.record(involved, "JwksFetchFailed", "x")
  recorder.record(involved, "JwksRecovered", "x")
  recorder.record({ ...involved, name: "other", uid: "v" }, "JwksFetchFailed", "x")
  recorder.record({ apiVersion: "v1", kind: "Namespace", name: "foo" }, "CertificateExpiring", "x")
  await settle()
  expect(stored().map(({ metadata }) => metadata.namespace)).toEqual(["foo", "foo", "foo", "default"])
})

it("keeps a limited number of events", async () => {
  const { clock, recorder } = rig()
  for (let i = 0; i < 3_000; i++) recorder.record({ ...involved, name: `p${i}` }, "InvalidStored", "x")
  await settle()
  expect(clock.pending).toBeLessThanOrEqual(1_000)
})

it("drops an event if the cluster rejects it", async () => {
  const { client, recorder, warnings } = rig()
  client.beforeWrite = () => {
    throw new ApiError(403, "Forbidden", "no")
  }
  recorder.record(involved, "Superseded", "x")
  await settle()
  expect(warnings).toHaveLength(1)
})
