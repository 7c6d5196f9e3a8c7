// SPDX-License-Identifier: Apache-2.0
// How a client secures its calls. Its credentials are in its own bootstrap: for gRPC (A29) the certificate provider
// `default`, for Envoy the static secrets `default` and `ROOTCA`. The server's identity must be one of its URI SANs.

import { create } from "@bufbuild/protobuf"
import {
  CertificateProviderPluginInstanceSchema,
  type CertificateValidationContext,
  CertificateValidationContextSchema,
  SubjectAltNameMatcher_SanType,
  SubjectAltNameMatcherSchema,
} from "../generated/envoy/extensions/transport_sockets/tls/v3/common_pb.js"
import { SdsSecretConfigSchema } from "../generated/envoy/extensions/transport_sockets/tls/v3/secret_pb.js"
import {
  CommonTlsContext_CombinedCertificateValidationContextSchema,
  CommonTlsContextSchema,
  type UpstreamTlsContext,
  UpstreamTlsContextSchema,
} from "../generated/envoy/extensions/transport_sockets/tls/v3/tls_pb.js"
import { StringMatcherSchema } from "../generated/envoy/type/matcher/v3/string_pb.js"

const PROVIDER = "default"
const ROOT = "ROOTCA"

/**
 * Fail closed: an empty list of names would accept any server of the mesh, so a name that no workload has is used
 * instead.
 */
const NO_IDENTITY = "spiffe://nobody.invalid"

export function upstreamTls(sni: string, identities: readonly string[]): UpstreamTlsContext {
  const combined = create(CommonTlsContext_CombinedCertificateValidationContextSchema, {
    defaultValidationContext: validation(identities.length === 0 ? [NO_IDENTITY] : identities),
    validationContextSdsSecretConfig: create(SdsSecretConfigSchema, { name: ROOT }),
  })
  return create(UpstreamTlsContextSchema, {
    sni,
    commonTlsContext: create(CommonTlsContextSchema, {
      tlsCertificateProviderInstance: create(CertificateProviderPluginInstanceSchema, {
        instanceName: PROVIDER,
        certificateName: PROVIDER,
      }),
      tlsCertificateSdsSecretConfigs: [create(SdsSecretConfigSchema, { name: PROVIDER })],
      validationContextType: { case: "combinedValidationContext", value: combined },
      alpnProtocols: ["h2", "http/1.1"],
    }),
  })
}

/** gRPC reads the SAN matchers without a type, Envoy those with a type. */
function validation(identities: readonly string[]): CertificateValidationContext {
  const names = identities.map(exact => create(StringMatcherSchema, { matchPattern: { case: "exact", value: exact } }))
  return create(CertificateValidationContextSchema, {
    caCertificateProviderInstance: create(CertificateProviderPluginInstanceSchema, {
      instanceName: PROVIDER,
      certificateName: ROOT,
    }),
    matchSubjectAltNames: names,
    matchTypedSubjectAltNames: names.map(matcher =>
      create(SubjectAltNameMatcherSchema, { sanType: SubjectAltNameMatcher_SanType.URI, matcher }),
    ),
  })
}
