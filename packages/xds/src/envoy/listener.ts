// SPDX-License-Identifier: Apache-2.0
// Encodes the listener of a host and port: an API listener, as proxyless clients expect it, whose routes are sent over
// ADS.

import { create, toBinary } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { ApiListenerSchema } from "../generated/envoy/config/listener/v3/api_listener_pb.js"
import { ListenerSchema } from "../generated/envoy/config/listener/v3/listener_pb.js"
import { RouterSchema } from "../generated/envoy/extensions/filters/http/router/v3/router_pb.js"
import {
  HttpConnectionManagerSchema,
  HttpFilterSchema,
  RdsSchema,
} from "../generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js"
import { overAds } from "./ads.js"

export function encodeListener(name: string, routes: string): Uint8Array {
  const router = create(HttpFilterSchema, {
    name: "envoy.filters.http.router",
    configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) },
  })
  const manager = create(HttpConnectionManagerSchema, {
    statPrefix: name,
    routeSpecifier: { case: "rds", value: create(RdsSchema, { configSource: overAds(), routeConfigName: routes }) },
    httpFilters: [router],
  })
  const apiListener = create(ApiListenerSchema, { apiListener: anyPack(HttpConnectionManagerSchema, manager) })
  return toBinary(ListenerSchema, create(ListenerSchema, { name, apiListener }))
}
