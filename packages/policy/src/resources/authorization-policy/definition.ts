// SPDX-License-Identifier: Apache-2.0
// AuthorizationPolicy: who may do what. A policy matches if any rule does; a rule matches if some `from`, some `to` and
// every `when` does.

import { enforcement, formerTarget, oneScope, selector, targetRefs, values } from "../common.js"
import { denyResponse } from "../deny-response.js"
import { choice, closed, list, optional, type TypeOf, text } from "../schema.js"

const MAX_SERVICE_ACCOUNTS = 16
const MAX_SERVICE_ACCOUNT_LENGTH = 320

function serviceAccounts(description: string, found: string) {
  return list(
    text({
      description: "`namespace/name`, or `name` for the policy's own namespace. No wildcards.",
      minLength: 1,
      maxLength: MAX_SERVICE_ACCOUNT_LENGTH,
      "x-problem": { minLength: `empty value not allowed, found in ${found}` },
      "x-fix": "write `serviceAccount` or `namespace/serviceAccount`",
    }),
    {
      description,
      maxItems: MAX_SERVICE_ACCOUNTS,
      "x-problem": { maxItems: `may not have more than ${MAX_SERVICE_ACCOUNTS} values, found in ${found}` },
    },
  )
}

const source = closed(
  {
    principals: optional(
      values(
        "Peer identities by mTLS, `<trust domain>/ns/<namespace>/sa/<service account>`, without `spiffe://`.",
        "Principals",
      ),
    ),
    notPrincipals: optional(
      values("Peer identities that do not match. A peer without identity does match.", "NotPrincipals"),
    ),
    requestPrincipals: optional(
      values("`<iss>/<sub>` of the verified token; `*` is any verified token.", "RequestPrincipals"),
    ),
    notRequestPrincipals: optional(
      values("Token identities that do not match. A request without a token does match.", "NotRequestPrincipals"),
    ),
    namespaces: optional(values("Namespaces of the peer identity; `*` stands for any characters.", "Namespaces")),
    notNamespaces: optional(values("Namespaces that do not match.", "NotNamespaces")),
    serviceAccounts: optional(
      serviceAccounts("Service accounts of the peer identity, in any trust domain.", "ServiceAccounts"),
    ),
    notServiceAccounts: optional(serviceAccounts("Service accounts that do not match.", "NotServiceAccounts")),
    trustDomains: optional(values("Trust domains of the peer identity; one `*` at either end.", "TrustDomains")),
    notTrustDomains: optional(values("Trust domains that do not match.", "NotTrustDomains")),
    ipBlocks: optional(values("Addresses or CIDR blocks of the TCP peer.", "IpBlocks")),
    notIpBlocks: optional(values("Addresses or CIDR blocks of the TCP peer that do not match.", "NotIpBlocks")),
    remoteIpBlocks: optional(
      values("Addresses or CIDR blocks of the original client as told by trusted proxies.", "RemoteIpBlocks"),
    ),
    notRemoteIpBlocks: optional(
      values("Addresses or CIDR blocks of the original client that do not match.", "NotRemoteIpBlocks"),
    ),
  },
  {
    description: "A caller: all the given fields must match, each by any of its values.",
    "x-problem": { null: "`from.source` must not be nil, found at rule {rule}" },
    "x-kubernetes-validations": [
      {
        rule: "(has(self.serviceAccounts) || has(self.notServiceAccounts)) ? (!has(self.principals) && !has(self.notPrincipals) && !has(self.namespaces) && !has(self.notNamespaces)) : true",
        message: "Cannot set serviceAccounts with namespaces or principals",
      },
    ],
  },
)

const operation = closed(
  {
    hosts: optional(
      values(
        "Host as the request names it, port included, without regard to case or to a trailing dot of the name.",
        "Hosts",
      ),
    ),
    notHosts: optional(values("Hosts that do not match.", "NotHosts")),
    ports: optional(values("Ports of the workload (not of the Service), as quoted numbers.", "Ports")),
    notPorts: optional(values("Ports that do not match.", "NotPorts")),
    methods: optional(values("HTTP methods, in upper case; a gRPC call is a `POST`.", "Methods")),
    notMethods: optional(values("HTTP methods that do not match.", "NotMethods")),
    paths: optional(
      values("Normalised paths without query; `*` at one end, or a template with `{*}` and `{**}`.", "Paths"),
    ),
    notPaths: optional(values("Paths that do not match.", "NotPaths")),
  },
  {
    description: "What is asked for: all the given fields must match, each by any of its values.",
    "x-problem": { null: "`to.operation` must not be nil, found at rule {rule}" },
  },
)

const condition = closed(
  {
    key: text({
      description: "The attribute, for example `request.headers[x-tier]` or `request.auth.claims[groups]`.",
      minLength: 1,
      maxLength: 1024,
      "x-problem": { minLength: "`key` must not be empty" },
      "x-fix": "write an attribute such as `request.auth.claims[groups]`",
    }),
    values: optional(values("Values one of which the attribute must have.", "Values")),
    notValues: optional(values("Values none of which the attribute may have.", "NotValues")),
  },
  { description: "A further condition on one attribute." },
)

const from = closed(
  { source: optional(source) },
  {
    description: "One alternative for the caller.",
    "x-problem": { null: "`from` must not be nil, found at rule {rule}" },
    "x-fix": "name a caller, or remove the entry",
  },
)

const to = closed(
  { operation: optional(operation) },
  {
    description: "One alternative for the operation.",
    "x-problem": { null: "`to` must not be nil, found at rule {rule}" },
    "x-fix": "name an operation, or remove the entry",
  },
)

export const rule = closed(
  {
    from: optional(
      list(from, { description: "Callers, any of which matches. Absent means any caller.", maxItems: 512 }),
    ),
    to: optional(
      list(to, { description: "Operations, any of which matches. Absent means any operation.", maxItems: 512 }),
    ),
    when: optional(list(condition, { description: "Conditions, all of which must hold.", maxItems: 512 })),
  },
  {
    description: "Matches where `from`, `to` and `when` all do. `{}` matches everything.",
    "x-problem": { null: "`rule` must not be nil, found at rule {rule}" },
    "x-fix": "write `{}` for a rule that matches everything, or remove the entry",
  },
)

const action = choice(["ALLOW", "DENY", "AUDIT", "CUSTOM"], {
  description:
    "What a match means. CUSTOM asks the provider, which may deny. Any DENY match denies; otherwise, once an ALLOW policy applies to a workload, only requests that one of them matches are allowed. AUDIT marks.",
  default: "ALLOW",
})

const provider = closed(
  {
    name: text({
      description: "The name of a provider that the mesh configuration declares.",
      minLength: 1,
      maxLength: 253,
      "x-problem": { minLength: "`provider.name` must not be empty" },
      "x-fix": "name a provider of the mesh configuration",
    }),
  },
  { description: "The external authorizer that a CUSTOM policy asks." },
)

export const DENY_RESPONSE_OF_OTHERS =
  "`denyResponse` is for the actions ALLOW and DENY: AUDIT denies nothing, and the provider of CUSTOM answers itself"

export const authorizationPolicySpec = closed(
  {
    selector: optional(selector),
    targetRefs: optional(targetRefs),
    enforcement: optional(enforcement),
    action: optional(action),
    provider: optional(provider),
    denyResponse: optional(
      denyResponse(
        "The response to requests that this policy denies: a DENY policy those that its rules match, an ALLOW policy those that no ALLOW policy matches. Of several ALLOW policies with a response, the oldest gives it. Absent, 403 with the text `RBAC: access denied`.",
      ),
    ),
    rules: optional(
      list(rule, { description: "Alternatives. An ALLOW policy without rules allows nothing.", maxItems: 512 }),
    ),
  },
  {
    description: "Who may call what, for which workloads.",
    "x-rejected": { ...formerTarget },
    "x-kubernetes-validations": [
      oneScope,
      {
        rule: "!has(self.denyResponse) || !has(self.action) || self.action in ['ALLOW', 'DENY']",
        message: DENY_RESPONSE_OF_OTHERS,
      },
      {
        rule: "!(has(self.action) && self.action == 'DENY') || (has(self.rules) && size(self.rules) > 0)",
        message:
          "DENY action without `rules` is meaningless as it will never be triggered, add an empty rule `{}` if you want it be triggered for every request",
      },
    ],
  },
)

export type Source = TypeOf<typeof source>
export type Operation = TypeOf<typeof operation>
export type Condition = TypeOf<typeof condition>
export type Rule = TypeOf<typeof rule>
export type AuthorizationPolicySpec = TypeOf<typeof authorizationPolicySpec>
