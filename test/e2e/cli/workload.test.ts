// SPDX-License-Identifier: Apache-2.0
// A declared workload: its Pod, its token and the files with which its proxy starts.

import { readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { readBootstrap } from "@merlon/xds/member"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Programs, startPrograms } from "./support/programs.js"

const ROOT = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"

describe("merlonctl workload (needs kubectl)", { tags: ["needs/kubectl"] }, () => {
  let programs: Programs
  let out: string
  beforeAll(async () => {
    programs = await startPrograms()
    out = join(programs.folder, "files")
  })
  afterAll(() => programs?.close())

  const ctl = (args: string) => programs.merlonctl(args.split(" "))

  async function reviewed(token: string): Promise<{ authenticated?: boolean; audiences?: string[]; user?: object }> {
    const input = JSON.stringify({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token, audiences: ["merlon-ca"] },
    })
    return JSON.parse((await programs.kubectl(["create", "-o", "json", "-f", "-"], { input })).out).status
  }

  it("reports what is missing before it creates anything", async () => {
    expect(await ctl("workload add w -n nowhere")).toMatchObject({
      code: 1,
      err: expect.stringContaining("`kubectl create namespace nowhere` makes it"),
    })
    expect(await ctl("workload add w -n one")).toMatchObject({
      code: 1,
      err: expect.stringContaining("no ConfigMap `merlon-ca-root-cert`"),
    })
    expect((await programs.kubectl(["get", "pods", "-A", "-o", "name"])).out).toBe("")
  })

  it("declares a workload, with files that a proxy can start from", async () => {
    const root = join(programs.folder, "root-cert.pem")
    writeFileSync(root, ROOT)
    await programs.kubectl(["create", "configmap", "merlon-ca-root-cert", "-n", "one", `--from-file=${root}`])
    const added = await ctl(
      `workload add bin-1 -n one --labels app=bin,version=v1 --port 8080/http --port 9090 --service-account bin --control-plane cp.example:15012 --address 10.1.2.3 --out ${out}`,
    )
    expect(added).toMatchObject({ code: 0, out: "workload/bin-1 created\n" })
    expect(added.err).toContain(`merlond xserver --bootstrap ${join(out, "bootstrap.yaml")}`)
    expect(readBootstrap(join(out, "bootstrap.yaml"), {})).toMatchObject({
      names: { mesh: "merlon", domain: "merlon.dev" },
      controlPlane: { address: "cp.example:15012", serverName: "merlond.merlon-system.svc" },
      workload: { namespace: "one", name: "bin-1", serviceAccount: "bin" },
      trustBundle: join(out, "root.pem"),
      token: join(out, "token"),
      address: "10.1.2.3",
      state: join(out, "state"),
    })
    expect(readFileSync(join(out, "root.pem"), "utf8")).toBe(ROOT)
    expect(statSync(join(out, "token")).mode & 0o777).toBe(0o600)
  })

  it("gives it a token that is valid only for this Pod and the mesh's authority", async () => {
    const status = await reviewed(readFileSync(join(out, "token"), "utf8"))
    expect(status).toMatchObject({
      authenticated: true,
      audiences: ["merlon-ca"],
      user: {
        username: "system:serviceaccount:one:bin",
        extra: { "authentication.kubernetes.io/pod-name": ["bin-1"] },
      },
    })
  })

  it("lists declared workloads and no running Pods", async () => {
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "runs" },
      spec: { containers: [{ name: "a", image: "a" }] },
    }
    await programs.kubectl(["create", "-n", "one", "-f", "-"], { input: JSON.stringify(pod) })
    const listed = await ctl("workload list -n one -o wide")
    expect(listed.out).toMatch(
      /^NAME +READY +ADDRESS +PORTS +AGE +SERVICE-ACCOUNT +LABELS\nbin-1 +no +<none> +8080\/http,9090 +\d+(s|m(\d+s)?) +bin +app=bin,version=v1\n$/,
    )
    expect((await ctl("workload list -A -o name")).out).toBe("pod/bin-1\n")
    expect(await ctl("workload list -n two")).toMatchObject({ code: 0, out: "" })
  })

  it("can be repeated: labels are updated, the token is new, immutable fields are rejected", async () => {
    const before = readFileSync(join(out, "token"), "utf8")
    const again = await ctl(
      `workload add bin-1 -n one --labels app=bin --port 8080/http --port 9090 --service-account bin --out ${out}`,
    )
    expect(again).toMatchObject({ code: 0, out: "workload/bin-1 configured\n" })
    expect(readFileSync(join(out, "token"), "utf8")).not.toBe(before)
    expect((await ctl("workload list -n one -o wide")).out).toMatch(/ app=bin\n$/)
    const other = await ctl(`workload add bin-1 -n one --port 80 --service-account bin --out ${out}`)
    expect(other).toMatchObject({ code: 1, err: expect.stringContaining("other ports") })
    const running = await ctl(`workload add runs -n one --out ${out}`)
    expect(running).toMatchObject({ code: 1, err: expect.stringContaining("choose another name") })
  })

  it("removes it, and invalidates its token", async () => {
    expect(await ctl("workload remove runs -n one")).toMatchObject({
      code: 1,
      err: expect.stringContaining("something runs"),
    })
    expect(await ctl("workload remove bin-1 -n one")).toMatchObject({ code: 0, out: 'workload "bin-1" removed\n' })
    expect((await reviewed(readFileSync(join(out, "token"), "utf8"))).authenticated ?? false).toBe(false)
    expect(await ctl("workload remove bin-1 -n one")).toMatchObject({
      code: 1,
      err: expect.stringContaining("not found"),
    })
    expect(await ctl("workload remove bin-1 -n one --ignore-not-found")).toMatchObject({ code: 0, out: "" })
  })
})
