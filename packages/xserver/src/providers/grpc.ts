// SPDX-License-Identifier: Apache-2.0
// Envoy's `ext_authz` over gRPC: one `Check`, answered by one message. The answer counts only if the call succeeded and
// the message does not contradict itself.

import type { readCheckResult, writeProviderCheck } from "@merlon/xds/authz"
import { allowance, denial, failed } from "./answer.js"
import type { ProviderProtocol } from "./protocol.js"
import { sentHeaders } from "./question.js"

/** gRPC puts a flag and a length before each message. */
const PREFIX = 5
const CHECK_PATH = "/envoy.service.auth.v3.Authorization/Check"

/** Writes questions and reads answers. */
export interface CheckMessages {
  readonly writeProviderCheck: typeof writeProviderCheck
  readonly readCheckResult: typeof readCheckResult
}

export function grpcProtocol({ writeProviderCheck: write, readCheckResult: read }: CheckMessages): ProviderProtocol {
  return {
    ask(question, provider) {
      const { http, connection, requestId } = question
      const { peer, sourceIp, destinationIp, destinationPort, sni } = connection
      const message = write({
        method: http.method,
        path: `${http.path}${http.query}`,
        host: http.host ?? "",
        scheme: http.scheme,
        protocol: "HTTP/1.1",
        requestId,
        headers: sentHeaders(question, provider),
        source: { address: sourceIp.text, principal: peer?.uri },
        destination: { address: destinationIp.text, port: destinationPort },
        sni,
      })
      const body = Buffer.alloc(PREFIX + message.length)
      body.writeUInt32BE(message.length, 1)
      body.set(message, PREFIX)
      return {
        method: "POST",
        target: CHECK_PATH,
        host: provider.address,
        headers: [
          ["content-type", "application/grpc"],
          ["te", "trailers"],
          ["grpc-timeout", `${provider.timeoutMs}m`],
        ],
        body,
      }
    },

    answer({ status, headers, body, trailers }, provider) {
      const codes = [...(headers.get("grpc-status") ?? []), ...(trailers?.get("grpc-status") ?? [])]
      if (status !== 200 || codes.length !== 1) return failed("malformed")
      if (codes[0] !== "0") return failed("error")
      const isWhole = body.length >= PREFIX && body[0] === 0 && body.readUInt32BE(1) === body.length - PREFIX
      if (!isWhole) return failed("malformed")
      const { code, response } = read(body.subarray(PREFIX))
      if (code === undefined) return failed("malformed")
      if (code !== 0) {
        return response?.kind === "denied"
          ? denial(provider, response.status, response.body, response.headers)
          : denial(provider, 0, "", [])
      }
      // Fail closed: an answer that both allows and denies, or that changes what was judged, does not allow.
      if (response?.kind === "denied" || response?.setsQuery) return failed("malformed")
      return allowance(provider, response?.headers ?? [], response?.removeHeaders ?? [])
    },
  }
}
