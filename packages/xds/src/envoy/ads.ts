// SPDX-License-Identifier: Apache-2.0
// The config source of all other resources: the same ADS stream.

import { create } from "@bufbuild/protobuf"
import {
  AggregatedConfigSourceSchema,
  ApiVersion,
  type ConfigSource,
  ConfigSourceSchema,
} from "../generated/envoy/config/core/v3/config_source_pb.js"

export function overAds(): ConfigSource {
  return create(ConfigSourceSchema, {
    configSourceSpecifier: { case: "ads", value: create(AggregatedConfigSourceSchema) },
    resourceApiVersion: ApiVersion.V3,
  })
}
