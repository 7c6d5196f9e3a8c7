// SPDX-License-Identifier: Apache-2.0
// The HTTP version that Envoy uses for a cluster: negotiated with ALPN over TLS; in plaintext, the version of its own
// client. gRPC clients always use HTTP/2.

import { create } from "@bufbuild/protobuf"
import { Http2ProtocolOptionsSchema } from "../generated/envoy/config/core/v3/protocol_pb.js"
import {
  type HttpProtocolOptions,
  HttpProtocolOptions_AutoHttpConfigSchema,
  HttpProtocolOptions_UseDownstreamHttpConfigSchema,
  HttpProtocolOptionsSchema,
} from "../generated/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js"

export function encodeProtocol(tls: boolean): HttpProtocolOptions {
  const http2ProtocolOptions = create(Http2ProtocolOptionsSchema)
  return create(HttpProtocolOptionsSchema, {
    upstreamProtocolOptions: tls
      ? { case: "autoConfig", value: create(HttpProtocolOptions_AutoHttpConfigSchema, { http2ProtocolOptions }) }
      : {
          case: "useDownstreamProtocolConfig",
          value: create(HttpProtocolOptions_UseDownstreamHttpConfigSchema, { http2ProtocolOptions }),
        },
  })
}
