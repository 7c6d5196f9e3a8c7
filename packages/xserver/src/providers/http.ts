// SPDX-License-Identifier: Apache-2.0
// Envoy's `ext_authz` over HTTP: a request with the method, path and host of the judged one and without content. 200
// allows, 5xx is a failure, any other status denies.

import { FIELD_KIND } from "@merlon/wire"
import { pairsOf } from "@merlon/wire/http"
import { allowance, denial, failed } from "./answer.js"
import type { ProviderProtocol } from "./protocol.js"
import { sentHeaders } from "./question.js"

const REMOVAL = "x-envoy-auth-headers-to-remove"

export const httpProtocol: ProviderProtocol = {
  ask(question, provider) {
    const { http, connection, requestId } = question
    const { peer, clientCertificate, sourceIp } = connection
    return {
      method: http.method,
      target: `${provider.pathPrefix}${http.path}${http.query}`,
      host: http.host,
      headers: [
        ...sentHeaders(question, provider),
        ["x-forwarded-for", sourceIp.text],
        ["x-forwarded-proto", http.scheme],
        ["x-request-id", requestId],
        ...(peer === undefined || clientCertificate === undefined
          ? []
          : [["x-forwarded-client-cert", clientCertificate] as const]),
      ],
      body: undefined,
    }
  },

  answer({ status, headers, body }, provider) {
    if (status >= 500) return failed("error")
    const plainHeaders = pairsOf(headers, (_, index) => headers.kind(index) === FIELD_KIND.plain)
    if (status !== 200) return denial(provider, status, body.toString("latin1"), plainHeaders)
    const removed = headers.get(REMOVAL) ?? []
    const names = removed.flatMap(line => line.split(",").map(name => name.trim()))
    return allowance(
      provider,
      plainHeaders,
      names.filter(name => name !== ""),
    )
  },
}
