// SPDX-License-Identifier: Apache-2.0
// Probes the application for the kubelet. Only the status is returned: the caller of a probe must not see the
// application's response.

import { request as httpRequest } from "node:http"
import { request as httpsRequest } from "node:https"
import { connect as connectTls } from "node:tls"
import { connectTcp } from "@merlon/wire"
import type { UpstreamAddress } from "../config/application-port.js"
import type { Probe } from "../config/probe.js"

/** The address of the application, without a port. */
export type ApplicationHost = Omit<UpstreamAddress, "port">

const HOST: ApplicationHost = { host: "127.0.0.1" }
const DOWN = 503

export function probeApplication(probe: Probe, at: ApplicationHost = HOST): Promise<number> {
  switch (probe.kind) {
    case "tcp":
      return probeTcp(probe, at)
    case "grpc":
      return probeGrpc(probe, at)
    default:
      return probeHttp(probe, at)
  }
}

function probeHttp({ kind, port, path, headers, timeoutMs }: Probe, at: ApplicationHost): Promise<number> {
  return new Promise(resolve => {
    // Limits the whole probe, also if the response never ends: probes continue for as long as the Pod runs.
    const signal = AbortSignal.timeout(timeoutMs)
    const createConnection = () => connectTcp({ ...at, port }, timeoutMs, {})
    const options = { host: at.host, port, path, headers, signal }
    const answered = (response: { readonly statusCode?: number | undefined; resume(): unknown }): void => {
      response.resume()
      resolve(response.statusCode ?? 502)
    }
    // The kubelet does not verify the certificate either: the probe only checks whether the application responds.
    const outgoing =
      kind === "https"
        ? httpsRequest(
            {
              ...options,
              createConnection: () => connectTls({ socket: createConnection(), rejectUnauthorized: false }),
            },
            answered,
          )
        : httpRequest({ ...options, createConnection }, answered)
    outgoing.on("error", () => resolve(DOWN))
    // Node emits no error if the application upgrades the connection, which was not requested.
    outgoing.on("close", () => resolve(DOWN))
    outgoing.end()
  })
}

function probeTcp({ port, timeoutMs }: Probe, at: ApplicationHost): Promise<number> {
  return new Promise(resolve => {
    const socket = connectTcp({ ...at, port }, timeoutMs, { timeout: timeoutMs })
    const settle = (status: number): void => {
      socket.destroy()
      resolve(status)
    }
    socket.on("connect", () => settle(200))
    socket.on("timeout", () => settle(DOWN))
    socket.on("error", () => settle(DOWN))
  })
}

/** The standard health service of gRPC: `grpc.health.v1.Health/Check`. */
async function probeGrpc({ port, path: service, timeoutMs }: Probe, at: ApplicationHost): Promise<number> {
  // Loaded on demand: few workloads have gRPC probes, and the others save the memory.
  const { connect: connectHttp2 } = await import("node:http2")
  return new Promise(resolve => {
    const createConnection = () => connectTcp({ ...at, port }, timeoutMs, {})
    const session = connectHttp2(`http://localhost:${port}`, { createConnection })
    const timer = setTimeout(() => settle(DOWN), timeoutMs)
    const settle = (status: number): void => {
      clearTimeout(timer)
      session.destroy()
      resolve(status)
    }
    session.on("error", () => settle(DOWN))
    const call = session.request({
      ":method": "POST",
      ":path": "/grpc.health.v1.Health/Check",
      "content-type": "application/grpc",
      te: "trailers",
    })
    const parts: Buffer[] = []
    call.on("error", () => settle(DOWN))
    call.on("data", (part: Buffer) => {
      parts.push(part)
      // A response is seven bytes; a peer that sends many more parts fails the check.
      if (parts.length > 16) settle(DOWN)
    })
    call.on("end", () => settle(isServing(Buffer.concat(parts)) ? 200 : DOWN))
    call.end(healthRequest(service))
  })
}

function healthRequest(service: string): Buffer {
  const name = Buffer.from(service)
  // Field 1, a string. Service names are shorter than 128 bytes, so their length fits in one byte.
  const message =
    name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a, name.length & 0x7f]), name.subarray(0, 127)])
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** An uncompressed message whose field 1 is SERVING. */
function isServing(answer: Buffer): boolean {
  return answer.length >= 7 && answer[0] === 0 && answer[5] === 0x08 && answer[6] === 1
}
