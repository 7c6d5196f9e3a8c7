// SPDX-License-Identifier: Apache-2.0
// Revocation: the effect of editing one ConfigMap on connections, streams and certificates.

import { X509Certificate } from "node:crypto"
import { once } from "node:events"
import { connect, type TLSSocket } from "node:tls"
import { canonicalSerial, makeSigningRequest } from "@merlon/identity"
import { MeshCallError } from "@merlon/xds/client"
import { beforeAll, describe, expect, it } from "vitest"
import { BareProxy } from "../support/bare-proxy.js"
import { names, WAIT } from "../support/cluster-api.js"
import type { DeclaredWorkload } from "../support/declared-workload.js"
import { type Mesh, policy } from "../support/mesh.js"

export function revocation(started: () => Mesh): void {
  describe("revocation", () => {
    let mesh: Mesh
    let httpbin: DeclaredWorkload
    let caller: DeclaredWorkload
    let other: DeclaredWorkload

    const revoke = (data: { readonly identities?: string; readonly serials?: string }) =>
      mesh.api.put({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "merlon-revocations", namespace: names.rootNamespace },
        data,
      })
    /** An open connection that has been used once. */
    const openAs = async (workload: DeclaredWorkload): Promise<{ socket: TLSSocket; closed: Promise<unknown> }> => {
      const socket = connect({ host: httpbin.address, port: 15_080, ...httpbin.tlsAs(workload.credentials) })
      socket.on("error", () => undefined)
      await once(socket, "secureConnect")
      socket.write("GET /first HTTP/1.1\r\nhost: httpbin\r\n\r\n")
      const [answer] = await once(socket, "data")
      expect(String(answer)).toMatch(/^HTTP\/1\.1 200/)
      socket.resume()
      return { socket, closed: once(socket, "close") }
    }

    beforeAll(async () => {
      mesh = started()
      ;[httpbin, caller, other] = await Promise.all([
        mesh.workload("httpbin"),
        mesh.workload("caller"),
        mesh.workload("other"),
      ])
      await mesh.api.put(policy("PeerAuthentication", "mode", { mtls: { mode: "STRICT" } }))
      await mesh.api.becomes("PeerAuthentication", "mode", "foo", "Enforced", "True")
    })

    it("of a serial closes the live connections of that certificate, and of no other", async () => {
      const serial = canonicalSerial(new X509Certificate(caller.credentials.chain).serialNumber)
      const [mine, theirs] = [await openAs(caller), await openAs(other)]
      const old = caller.credentials
      await revoke({ serials: serial })
      await mine.closed
      expect(theirs.socket.destroyed).toBe(false)
      expect(await httpbin.getAs(other, "/again")).toBe(200)
      theirs.socket.destroy()
      // The certificate stays revoked, while the identity is valid again with a new one.
      const rejected = connect({ host: httpbin.address, port: 15_080, ...httpbin.tlsAs(old) })
      rejected.on("error", () => undefined)
      rejected.on("secureConnect", () => rejected.write("GET / HTTP/1.1\r\nhost: httpbin\r\n\r\n"))
      let received = ""
      rejected.on("data", chunk => {
        received += chunk
      })
      await once(rejected, "close")
      expect(received).not.toContain("200 OK")
      caller.xserver.signal("SIGHUP")
      await expect
        .poll(() => canonicalSerial(new X509Certificate(caller.credentials.chain).serialNumber), WAIT)
        .not.toBe(serial)
      expect(await httpbin.getAs(caller, "/renewed")).toBe(200)
    })

    it("of an identity closes its connections, ends its stream and gives it no new certificate", async () => {
      const bare = new BareProxy(await mesh.declare("suspect", { serviceAccount: "suspect" }))
      await bare.ready()
      const live = await openAs(caller)
      await revoke({ identities: `${caller.identity}\nspiffe://cluster.local/ns/foo/sa/suspect\n` })
      await live.closed
      expect(await httpbin.getAs(caller, "/again")).toBe(0)
      expect(await httpbin.getAs(other, "/again")).toBe(200)

      await expect.poll(() => bare.ends[0], WAIT).toMatch(/PERMISSION_DENIED: .*suspect` is revoked/)
      const asked = bare.client.signCertificate(makeSigningRequest().request)
      await expect(asked).rejects.toThrow(/revoked/)
      await expect(asked).rejects.toBeInstanceOf(MeshCallError)
      await caller.xserver.printed(/the control plane rejects this proxy/)
      await expect.poll(() => mesh.control.metric("merlon_control_connected_proxies"), WAIT).toBe(2)
      const updates = bare.updates.length

      await revoke({})
      await expect.poll(() => httpbin.getAs(caller, "/forgiven"), WAIT).toBe(200)
      await expect.poll(() => bare.client.connected, { timeout: 90_000, interval: 200 }).toBe(true)
      await expect.poll(() => bare.updates.length, WAIT).toBeGreaterThan(updates)
      bare.close()
    })
  })
}
