// SPDX-License-Identifier: Apache-2.0
// A real kube-apiserver that stops and restarts without its watch history: watchers get a 410 and must list again, or
// they would keep deleted policies forever. Needs KUBEBUILDER_ASSETS, as envtest's setup provides it.

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { CONFIG_MAPS } from "../../packages/control/src/kubernetes/resource-type.js"
import { WAIT } from "../e2e/control/support/cluster-api.js"
import type { DeclaredWorkload } from "../e2e/control/support/declared-workload.js"
import { deny, Mesh } from "../e2e/control/support/mesh.js"
import { type Kubernetes, startKubernetes } from "./kube-apiserver.js"

const assets = process.env.KUBEBUILDER_ASSETS

describe("a kube-apiserver that restarts (needs KUBEBUILDER_ASSETS)", {
  tags: ["needs/kube-apiserver"],
  timeout: 120_000,
}, () => {
  let kubernetes: Kubernetes
  let mesh: Mesh
  let bin: DeclaredWorkload

  beforeAll(async () => {
    kubernetes = await startKubernetes(assets ?? "", { accounts: true })
    mesh = await Mesh.start({ administrator: kubernetes.kubeconfigPath })
    bin = await mesh.workload("bin")
  }, 120_000)
  afterAll(async () => {
    await mesh?.close()
    await kubernetes?.stop()
  })

  it("loses its watch history, and reports that as our client expects", async () => {
    const watch = mesh.api.client.watch(CONFIG_MAPS, "1", { signal: new AbortController().signal })
    await expect(watch[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 410 })
  })

  it("does not affect traffic meanwhile, and policies deleted meanwhile are removed", async () => {
    for (const path of ["kept", "removed"]) {
      await mesh.api.put(deny(path, `/${path}`, "bin"))
      await mesh.api.becomes("AuthorizationPolicy", path, "foo", "Enforced", "True")
    }
    expect([await bin.get("/kept"), await bin.get("/removed")]).toEqual([403, 403])
    mesh.control.program.signal("SIGSTOP")
    await mesh.api.delete("AuthorizationPolicy", "removed", "foo")
    await kubernetes.restart(async () => {
      await kubernetes.compact()
      expect([await bin.get("/kept"), await bin.get("/removed")]).toEqual([403, 403])
    })
    mesh.control.program.signal("SIGCONT")
    await expect.poll(() => bin.get("/removed"), WAIT).toBe(200)
    expect(await bin.get("/kept")).toBe(403)
    await mesh.api.put(deny("later", "/later", "bin"))
    await mesh.api.becomes("AuthorizationPolicy", "later", "foo", "Enforced", "True")
    expect(await bin.get("/later")).toBe(403)
  })

  it("lets another replica become leader and receive reports when the first one stops", async () => {
    const second = await mesh.replica(["--replica", "second"])
    const report = () => mesh.api.get("ConfigMap", "merlon-replica-second", "merlon-system")
    await expect.poll(report, WAIT).toBeDefined()
    mesh.control.program.signal("SIGTERM")
    expect(await mesh.control.program.exit()).toBe(0)
    await expect.poll(() => second.metric("merlon_control_leader"), WAIT).toBe(1)
    await expect.poll(report, WAIT).toBeUndefined()
    expect(second.program.stderr).not.toMatch(/forbidden/i)
  })
})
