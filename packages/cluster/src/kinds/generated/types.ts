// SPDX-License-Identifier: Apache-2.0
// Derived from Kubernetes, Apache-2.0, by testing/generate-kinds.ts; do not edit.
import type { RawTypeDef } from "../type-table.js"

export const rawTypes: Record<string, RawTypeDef> = {
 "io.k8s.api.admissionregistration.v1.ApplyConfiguration": {
  "go": "v1.ApplyConfiguration",
  "d": "ApplyConfiguration defines the desired configuration values of an object.",
  "f": [
   {
    "j": "expression",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "expression will be evaluated by CEL to create an apply configuration. ref: https://github.com/google/cel-spec\n\nApply configurations are declared in CEL using object initialization. For example, this CEL expression returns an apply configuration to set a single field:\n\n\tObject{\n\t  spec: Object.spec{\n\t    serviceAccountName: \"example\"\n\t  }\n\t}\n\nApply configurations may not modify atomic structs, maps or arrays due to the risk of accidental deletion of values not included in the apply configuration.\n\nCEL expressions have access to the object types needed to create apply configurations:\n\n- 'Object' - CEL type of the resource object. - 'Object.<fieldName>' - CEL type of object field (such as 'Object.spec') - 'Object.<fieldName1>.<fieldName2>...<fieldNameN>` - CEL type of nested field (such as 'Object.spec.containers')\n\nCEL expressions have access to the contents of the API request, organized into CEL variables as well as some other useful variables:\n\n- 'object' - The object from the incoming request. The value is null for DELETE requests. - 'oldObject' - The existing object. The value is null for CREATE requests. - 'request' - Attributes of the API request([ref](/pkg/apis/admission/types.go#AdmissionRequest)). - 'params' - Parameter resource referred to by the policy binding being evaluated. Only populated if the policy has a ParamKind. - 'namespaceObject' - The namespace object that the incoming object belongs to. The value is null for cluster-scoped resources. - 'variables' - Map of composited variables, from its name to its lazily evaluated value.\n  For example, a variable named 'foo' can be accessed as 'variables.foo'.\n- 'authorizer' - A CEL Authorizer. May be used to perform authorization checks for the principal (user or service account) of the request.\n  See https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#Authz\n- 'authorizer.requestResource' - A CEL ResourceCheck constructed from the 'authorizer' and configured with the\n  request resource.\n\nThe `apiVersion`, `kind`, `metadata.name` and `metadata.generateName` are always accessible from the root of the object. No other metadata properties are accessible.\n\nOnly property names of the form `[a-zA-Z_.-/][a-zA-Z0-9_.-/]*` are accessible. Required."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.AuditAnnotation": {
  "go": "v1.AuditAnnotation",
  "d": "AuditAnnotation describes how to produce an audit annotation for an API request.",
  "f": [
   {
    "j": "key",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "key specifies the audit annotation key. The audit annotation keys of a ValidatingAdmissionPolicy must be unique. The key must be a qualified name ([A-Za-z0-9][-A-Za-z0-9_.]*) no more than 63 bytes in length.\n\nThe key is combined with the resource name of the ValidatingAdmissionPolicy to construct an audit annotation key: \"{ValidatingAdmissionPolicy name}/{key}\".\n\nIf an admission webhook uses the same resource name as this ValidatingAdmissionPolicy and the same audit annotation key, the annotation key will be identical. In this case, the first annotation written with the key will be included in the audit event and all subsequent annotations with the same key will be discarded.\n\nRequired."
   },
   {
    "j": "valueExpression",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "valueExpression represents the expression which is evaluated by CEL to produce an audit annotation value. The expression must evaluate to either a string or null value. If the expression evaluates to a string, the audit annotation is included with the string value. If the expression evaluates to null or empty string the audit annotation will be omitted. The valueExpression may be no longer than 5kb in length. If the result of the valueExpression is more than 10kb in length, it will be truncated to 10kb.\n\nIf multiple ValidatingAdmissionPolicyBinding resources match an API request, then the valueExpression will be evaluated for each binding. All unique values produced by the valueExpressions will be joined together in a comma-separated list.\n\nRequired."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.ExpressionWarning": {
  "go": "v1.ExpressionWarning",
  "d": "ExpressionWarning is a warning information that targets a specific expression.",
  "f": [
   {
    "j": "fieldRef",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "fieldRef is the path to the field that refers to the expression. For example, the reference to the expression of the first item of validations is \"spec.validations[0].expression\""
   },
   {
    "j": "warning",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "warning contains the content of type checking information in a human-readable form. Each line of the warning contains the type that the expression is checked against, followed by the type check error from the compiler."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.FailurePolicyType": {
  "go": "v1.FailurePolicyType",
  "u": "string"
 },
 "io.k8s.api.admissionregistration.v1.JSONPatch": {
  "go": "v1.JSONPatch",
  "d": "JSONPatch defines a JSON Patch.",
  "f": [
   {
    "j": "expression",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "expression will be evaluated by CEL to create a [JSON patch](https://jsonpatch.com/). ref: https://github.com/google/cel-spec\n\nexpression must return an array of JSONPatch values.\n\nFor example, this CEL expression returns a JSON patch to conditionally modify a value:\n\n\t  [\n\t    JSONPatch{op: \"test\", path: \"/spec/example\", value: \"Red\"},\n\t    JSONPatch{op: \"replace\", path: \"/spec/example\", value: \"Green\"}\n\t  ]\n\nTo define an object for the patch value, use Object types. For example:\n\n\t  [\n\t    JSONPatch{\n\t      op: \"add\",\n\t      path: \"/spec/selector\",\n\t      value: Object.spec.selector{matchLabels: {\"environment\": \"test\"}}\n\t    }\n\t  ]\n\nTo use strings containing '/' and '~' as JSONPatch path keys, use \"jsonpatch.escapeKey\". For example:\n\n\t  [\n\t    JSONPatch{\n\t      op: \"add\",\n\t      path: \"/metadata/labels/\" + jsonpatch.escapeKey(\"example.com/environment\"),\n\t      value: \"test\"\n\t    },\n\t  ]\n\nCEL expressions have access to the types needed to create JSON patches and objects:\n\n- 'JSONPatch' - CEL type of JSON Patch operations. JSONPatch has the fields 'op', 'from', 'path' and 'value'.\n  See [JSON patch](https://jsonpatch.com/) for more details. The 'value' field may be set to any of: string,\n  integer, array, map or object.  If set, the 'path' and 'from' fields must be set to a\n  [JSON pointer](https://datatracker.ietf.org/doc/html/rfc6901/) string, where the 'jsonpatch.escapeKey()' CEL\n  function may be used to escape path keys containing '/' and '~'.\n- 'Object' - CEL type of the resource object. - 'Object.<fieldName>' - CEL type of object field (such as 'Object.spec') - 'Object.<fieldName1>.<fieldName2>...<fieldNameN>` - CEL type of nested field (such as 'Object.spec.containers')\n\nCEL expressions have access to the contents of the API request, organized into CEL variables as well as some other useful variables:\n\n- 'object' - The object from the incoming request. The value is null for DELETE requests. - 'oldObject' - The existing object. The value is null for CREATE requests. - 'request' - Attributes of the API request([ref](/pkg/apis/admission/types.go#AdmissionRequest)). - 'params' - Parameter resource referred to by the policy binding being evaluated. Only populated if the policy has a ParamKind. - 'namespaceObject' - The namespace object that the incoming object belongs to. The value is null for cluster-scoped resources. - 'variables' - Map of composited variables, from its name to its lazily evaluated value.\n  For example, a variable named 'foo' can be accessed as 'variables.foo'.\n- 'authorizer' - A CEL Authorizer. May be used to perform authorization checks for the principal (user or service account) of the request.\n  See https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#Authz\n- 'authorizer.requestResource' - A CEL ResourceCheck constructed from the 'authorizer' and configured with the\n  request resource.\n\nCEL expressions have access to [Kubernetes CEL function libraries](https://kubernetes.io/docs/reference/using-api/cel/#cel-options-language-features-and-libraries) as well as:\n\n- 'jsonpatch.escapeKey' - Performs JSONPatch key escaping. '~' and  '/' are escaped as '~0' and `~1' respectively).\n\n\nOnly property names of the form `[a-zA-Z_.-/][a-zA-Z0-9_.-/]*` are accessible. Required."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.MatchCondition": {
  "go": "v1.MatchCondition",
  "d": "MatchCondition represents a condition which must by fulfilled for a request to be sent to a webhook.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name is an identifier for this match condition, used for strategic merging of MatchConditions, as well as providing an identifier for logging purposes. A good name should be descriptive of the associated expression. Name must be a qualified name consisting of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')\n\nRequired."
   },
   {
    "j": "expression",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "expression represents the expression which will be evaluated by CEL. Must evaluate to bool. CEL expressions have access to the contents of the AdmissionRequest and Authorizer, organized into CEL variables:\n\n'object' - The object from the incoming request. The value is null for DELETE requests. 'oldObject' - The existing object. The value is null for CREATE requests. 'request' - Attributes of the admission request(/pkg/apis/admission/types.go#AdmissionRequest). 'authorizer' - A CEL Authorizer. May be used to perform authorization checks for the principal (user or service account) of the request.\n  See https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#Authz\n'authorizer.requestResource' - A CEL ResourceCheck constructed from the 'authorizer' and configured with the\n  request resource.\nDocumentation on CEL: https://kubernetes.io/docs/reference/using-api/cel/\n\nRequired."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.MatchPolicyType": {
  "go": "v1.MatchPolicyType",
  "u": "string"
 },
 "io.k8s.api.admissionregistration.v1.MatchResources": {
  "go": "v1.MatchResources",
  "d": "MatchResources decides whether to run the admission control policy on an object based on whether it meets the match criteria. The exclude rules take precedence over include rules (if a resource matches both, it is excluded)",
  "f": [
   {
    "j": "namespaceSelector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 1,
    "d": "namespaceSelector decides whether to run the admission control policy on an object based on whether the namespace for that object matches the selector. If the object itself is a namespace, the matching is performed on object.metadata.labels. If the object is another cluster scoped resource, it never skips the policy.\n\nFor example, to run the webhook on any objects whose namespace is not associated with \"runlevel\" of \"0\" or \"1\";  you will set the selector as follows: \"namespaceSelector\": {\n  \"matchExpressions\": [\n    {\n      \"key\": \"runlevel\",\n      \"operator\": \"NotIn\",\n      \"values\": [\n        \"0\",\n        \"1\"\n      ]\n    }\n  ]\n}\n\nIf instead you want to only run the policy on any objects whose namespace is associated with the \"environment\" of \"prod\" or \"staging\"; you will set the selector as follows: \"namespaceSelector\": {\n  \"matchExpressions\": [\n    {\n      \"key\": \"environment\",\n      \"operator\": \"In\",\n      \"values\": [\n        \"prod\",\n        \"staging\"\n      ]\n    }\n  ]\n}\n\nSee https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/ for more examples of label selectors.\n\nDefault to the empty LabelSelector, which matches everything."
   },
   {
    "j": "objectSelector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 2,
    "d": "objectSelector decides whether to run the validation based on if the object has matching labels. objectSelector is evaluated against both the oldObject and newObject that would be sent to the cel validation, and is considered to match if either object matches the selector. A null object (oldObject in the case of create, or newObject in the case of delete) or an object that cannot have labels (like a DeploymentRollback or a PodProxyOptions object) is not considered to match. Use the object selector only if the webhook is opt-in, because end users may skip the admission webhook by setting the labels. Default to the empty LabelSelector, which matches everything."
   },
   {
    "j": "resourceRules",
    "t": "[]@io.k8s.api.admissionregistration.v1.NamedRuleWithOperations",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "resourceRules describes what operations on what resources/subresources the ValidatingAdmissionPolicy matches. The policy cares about an operation if it matches _any_ Rule."
   },
   {
    "j": "excludeResourceRules",
    "t": "[]@io.k8s.api.admissionregistration.v1.NamedRuleWithOperations",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "excludeResourceRules describes what operations on what resources/subresources the ValidatingAdmissionPolicy should not care about. The exclude rules take precedence over include rules (if a resource matches both, it is excluded)"
   },
   {
    "j": "matchPolicy",
    "t": "*@io.k8s.api.admissionregistration.v1.MatchPolicyType",
    "o": 1,
    "p": 7,
    "d": "matchPolicy defines how the \"MatchResources\" list is used to match incoming requests. Allowed values are \"Exact\" or \"Equivalent\".\n\n- Exact: match a request only if it exactly matches a specified rule. For example, if deployments can be modified via apps/v1, apps/v1beta1, and extensions/v1beta1, but \"rules\" only included `apiGroups:[\"apps\"], apiVersions:[\"v1\"], resources: [\"deployments\"]`, a request to apps/v1beta1 or extensions/v1beta1 would not be sent to the ValidatingAdmissionPolicy.\n\n- Equivalent: match a request if modifies a resource listed in rules, even via another API group or version. For example, if deployments can be modified via apps/v1, apps/v1beta1, and extensions/v1beta1, and \"rules\" only included `apiGroups:[\"apps\"], apiVersions:[\"v1\"], resources: [\"deployments\"]`, a request to apps/v1beta1 or extensions/v1beta1 would be converted to apps/v1 and sent to the ValidatingAdmissionPolicy.\n\nDefaults to \"Equivalent\""
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicy": {
  "go": "v1.MutatingAdmissionPolicy",
  "d": "MutatingAdmissionPolicy describes the definition of an admission mutation policy that mutates the object coming into admission chain.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata; More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata."
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicySpec",
    "o": 1,
    "p": 2,
    "d": "spec defines the desired behavior of the MutatingAdmissionPolicy."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicyBinding": {
  "go": "v1.MutatingAdmissionPolicyBinding",
  "d": "MutatingAdmissionPolicyBinding binds the MutatingAdmissionPolicy with parametrized resources. MutatingAdmissionPolicyBinding and the optional parameter resource together define how cluster administrators configure policies for clusters.\n\nFor a given admission request, each binding will cause its policy to be evaluated N times, where N is 1 for policies/bindings that don't use params, otherwise N is the number of parameters selected by the binding. Each evaluation is constrained by a [runtime cost budget](https://kubernetes.io/docs/reference/using-api/cel/#runtime-cost-budget).\n\nAdding/removing policies, bindings, or params can not affect whether a given (policy, binding, param) combination is within its own CEL budget.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata; More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata."
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicyBindingSpec",
    "o": 1,
    "p": 2,
    "d": "spec defines the desired behavior of the MutatingAdmissionPolicyBinding."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicyBindingList": {
  "go": "v1.MutatingAdmissionPolicyBindingList",
  "d": "MutatingAdmissionPolicyBindingList is a list of MutatingAdmissionPolicyBinding.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicyBinding",
    "p": 2,
    "req": 1,
    "d": "List of PolicyBinding."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicyBindingSpec": {
  "go": "v1.MutatingAdmissionPolicyBindingSpec",
  "d": "MutatingAdmissionPolicyBindingSpec defines the specification of the MutatingAdmissionPolicyBinding.",
  "f": [
   {
    "j": "policyName",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "policyName references a MutatingAdmissionPolicy name which the MutatingAdmissionPolicyBinding binds to. If the referenced resource does not exist, this binding is considered invalid and will be ignored Required."
   },
   {
    "j": "paramRef",
    "t": "*@io.k8s.api.admissionregistration.v1.ParamRef",
    "o": 1,
    "p": 2,
    "d": "paramRef specifies the parameter resource used to configure the admission control policy. It should point to a resource of the type specified in spec.ParamKind of the bound MutatingAdmissionPolicy. If the policy specifies a ParamKind and the resource referred to by ParamRef does not exist, this binding is considered mis-configured and the FailurePolicy of the MutatingAdmissionPolicy applied. If the policy does not specify a ParamKind then this field is ignored, and the rules are evaluated without a param."
   },
   {
    "j": "matchResources",
    "t": "*@io.k8s.api.admissionregistration.v1.MatchResources",
    "o": 1,
    "p": 3,
    "d": "matchResources limits what resources match this binding and may be mutated by it. Note that if matchResources matches a resource, the resource must also match a policy's matchConstraints and matchConditions before the resource may be mutated. When matchResources is unset, it does not constrain resource matching, and only the policy's matchConstraints and matchConditions must match for the resource to be mutated. Additionally, matchResources.resourceRules are optional and do not constraint matching when unset. Note that this is differs from MutatingAdmissionPolicy matchConstraints, where resourceRules are required. The CREATE, UPDATE and CONNECT operations are allowed.  The DELETE operation may not be matched. '*' matches CREATE, UPDATE and CONNECT."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicyList": {
  "go": "v1.MutatingAdmissionPolicyList",
  "d": "MutatingAdmissionPolicyList is a list of MutatingAdmissionPolicy.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicy",
    "p": 2,
    "req": 1,
    "d": "List of ValidatingAdmissionPolicy."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicySpec": {
  "go": "v1.MutatingAdmissionPolicySpec",
  "d": "MutatingAdmissionPolicySpec defines the desired behavior of the admission policy.",
  "f": [
   {
    "j": "paramKind",
    "t": "*@io.k8s.api.admissionregistration.v1.ParamKind",
    "o": 1,
    "p": 1,
    "d": "paramKind specifies the kind of resources used to parameterize this policy. If absent, there are no parameters for this policy and the param CEL variable will not be provided to validation expressions. If paramKind refers to a non-existent kind, this policy definition is mis-configured and the FailurePolicy is applied. If paramKind is specified but paramRef is unset in MutatingAdmissionPolicyBinding, the params variable will be null."
   },
   {
    "j": "matchConstraints",
    "t": "*@io.k8s.api.admissionregistration.v1.MatchResources",
    "o": 1,
    "p": 2,
    "d": "matchConstraints specifies what resources this policy is designed to validate. The MutatingAdmissionPolicy cares about a request if it matches _all_ Constraints. However, in order to prevent clusters from being put into an unstable state that cannot be recovered from via the API MutatingAdmissionPolicy cannot match MutatingAdmissionPolicy and MutatingAdmissionPolicyBinding. The CREATE, UPDATE and CONNECT operations are allowed.  The DELETE operation may not be matched. '*' matches CREATE, UPDATE and CONNECT. Required."
   },
   {
    "j": "variables",
    "t": "[]@io.k8s.api.admissionregistration.v1.Variable",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "variables contain definitions of variables that can be used in composition of other expressions. Each variable is defined as a named CEL expression. The variables defined here will be available under `variables` in other expressions of the policy except matchConditions because matchConditions are evaluated before the rest of the policy.\n\nThe expression of a variable can refer to other variables defined earlier in the list but not those after. Thus, variables must be sorted by the order of first appearance and acyclic."
   },
   {
    "j": "mutations",
    "t": "[]@io.k8s.api.admissionregistration.v1.Mutation",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "mutations contain operations to perform on matching objects. mutations may not be empty; a minimum of one mutation is required. mutations are evaluated in order, and are reinvoked according to the reinvocationPolicy. The mutations of a policy are invoked for each binding of this policy and reinvocation of mutations occurs on a per binding basis."
   },
   {
    "j": "failurePolicy",
    "t": "*@io.k8s.api.admissionregistration.v1.FailurePolicyType",
    "o": 1,
    "p": 5,
    "d": "failurePolicy defines how to handle failures for the admission policy. Failures can occur from CEL expression parse errors, type check errors, runtime errors and invalid or mis-configured policy definitions or bindings.\n\nA policy is invalid if paramKind refers to a non-existent Kind. A binding is invalid if paramRef.name refers to a non-existent resource.\n\nfailurePolicy does not define how validations that evaluate to false are handled.\n\nAllowed values are Ignore or Fail. Defaults to Fail."
   },
   {
    "j": "matchConditions",
    "t": "[]@io.k8s.api.admissionregistration.v1.MatchCondition",
    "o": 1,
    "p": 6,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "matchConditions is a list of conditions that must be met for a request to be validated. Match conditions filter requests that have already been matched by the matchConstraints. An empty list of matchConditions matches all requests. There are a maximum of 64 match conditions allowed.\n\nIf a parameter object is provided, it can be accessed via the `params` handle in the same manner as validation expressions.\n\nThe exact matching logic is (in order):\n  1. If ANY matchCondition evaluates to FALSE, the policy is skipped.\n  2. If ALL matchConditions evaluate to TRUE, the policy is evaluated.\n  3. If any matchCondition evaluates to an error (but none are FALSE):\n     - If failurePolicy=Fail, reject the request\n     - If failurePolicy=Ignore, the policy is skipped"
   },
   {
    "j": "reinvocationPolicy",
    "t": "@io.k8s.api.admissionregistration.v1.ReinvocationPolicyType",
    "o": 1,
    "p": 7,
    "d": "reinvocationPolicy indicates whether mutations may be called multiple times per MutatingAdmissionPolicyBinding as part of a single admission evaluation. Allowed values are \"Never\" and \"IfNeeded\".\n\nNever: These mutations will not be called more than once per binding in a single admission evaluation.\n\nIfNeeded: These mutations may be invoked more than once per binding for a single admission request and there is no guarantee of order with respect to other admission plugins, admission webhooks, bindings of this policy and admission policies.  Mutations are only reinvoked when mutations change the object after this mutation is invoked. Required."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.MutatingWebhook": {
  "go": "v1.MutatingWebhook",
  "d": "MutatingWebhook describes an admission webhook and the resources and operations it applies to.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name is the name of the admission webhook. Name should be fully qualified, e.g., imagepolicy.kubernetes.io, where \"imagepolicy\" is the name of the webhook, and kubernetes.io is the name of the organization. Required."
   },
   {
    "j": "clientConfig",
    "t": "@io.k8s.api.admissionregistration.v1.WebhookClientConfig",
    "p": 2,
    "req": 1,
    "d": "clientConfig defines how to communicate with the hook. Required"
   },
   {
    "j": "rules",
    "t": "[]@io.k8s.api.admissionregistration.v1.RuleWithOperations",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "rules describes what operations on what resources/subresources the webhook cares about. The webhook cares about an operation if it matches _any_ Rule. However, in order to prevent ValidatingAdmissionWebhooks and MutatingAdmissionWebhooks from putting the cluster in a state which cannot be recovered from without completely disabling the plugin, ValidatingAdmissionWebhooks and MutatingAdmissionWebhooks are never called on admission requests for ValidatingWebhookConfiguration and MutatingWebhookConfiguration objects."
   },
   {
    "j": "failurePolicy",
    "t": "*@io.k8s.api.admissionregistration.v1.FailurePolicyType",
    "o": 1,
    "p": 4,
    "d": "failurePolicy defines how unrecognized errors from the admission endpoint are handled - allowed values are Ignore or Fail. Defaults to Fail."
   },
   {
    "j": "matchPolicy",
    "t": "*@io.k8s.api.admissionregistration.v1.MatchPolicyType",
    "o": 1,
    "p": 9,
    "d": "matchPolicy defines how the \"rules\" list is used to match incoming requests. Allowed values are \"Exact\" or \"Equivalent\".\n\n- Exact: match a request only if it exactly matches a specified rule. For example, if deployments can be modified via apps/v1, apps/v1beta1, and extensions/v1beta1, but \"rules\" only included `apiGroups:[\"apps\"], apiVersions:[\"v1\"], resources: [\"deployments\"]`, a request to apps/v1beta1 or extensions/v1beta1 would not be sent to the webhook.\n\n- Equivalent: match a request if modifies a resource listed in rules, even via another API group or version. For example, if deployments can be modified via apps/v1, apps/v1beta1, and extensions/v1beta1, and \"rules\" only included `apiGroups:[\"apps\"], apiVersions:[\"v1\"], resources: [\"deployments\"]`, a request to apps/v1beta1 or extensions/v1beta1 would be converted to apps/v1 and sent to the webhook.\n\nDefaults to \"Equivalent\""
   },
   {
    "j": "namespaceSelector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 5,
    "d": "namespaceSelector decides whether to run the webhook on an object based on whether the namespace for that object matches the selector. If the object itself is a namespace, the matching is performed on object.metadata.labels. If the object is another cluster scoped resource, it never skips the webhook.\n\nFor example, to run the webhook on any objects whose namespace is not associated with \"runlevel\" of \"0\" or \"1\";  you will set the selector as follows: \"namespaceSelector\": {\n  \"matchExpressions\": [\n    {\n      \"key\": \"runlevel\",\n      \"operator\": \"NotIn\",\n      \"values\": [\n        \"0\",\n        \"1\"\n      ]\n    }\n  ]\n}\n\nIf instead you want to only run the webhook on any objects whose namespace is associated with the \"environment\" of \"prod\" or \"staging\"; you will set the selector as follows: \"namespaceSelector\": {\n  \"matchExpressions\": [\n    {\n      \"key\": \"environment\",\n      \"operator\": \"In\",\n      \"values\": [\n        \"prod\",\n        \"staging\"\n      ]\n    }\n  ]\n}\n\nSee https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/ for more examples of label selectors.\n\nDefault to the empty LabelSelector, which matches everything."
   },
   {
    "j": "objectSelector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 11,
    "d": "objectSelector decides whether to run the webhook based on if the object has matching labels. objectSelector is evaluated against both the oldObject and newObject that would be sent to the webhook, and is considered to match if either object matches the selector. A null object (oldObject in the case of create, or newObject in the case of delete) or an object that cannot have labels (like a DeploymentRollback or a PodProxyOptions object) is not considered to match. Use the object selector only if the webhook is opt-in, because end users may skip the admission webhook by setting the labels. Default to the empty LabelSelector, which matches everything."
   },
   {
    "j": "sideEffects",
    "t": "*@io.k8s.api.admissionregistration.v1.SideEffectClass",
    "p": 6,
    "req": 1,
    "d": "sideEffects states whether this webhook has side effects. Acceptable values are: None, NoneOnDryRun (webhooks created via v1beta1 may also specify Some or Unknown). Webhooks with side effects MUST implement a reconciliation system, since a request may be rejected by a future step in the admission chain and the side effects therefore need to be undone. Requests with the dryRun attribute will be auto-rejected if they match a webhook with sideEffects == Unknown or Some."
   },
   {
    "j": "timeoutSeconds",
    "t": "*int32",
    "o": 1,
    "p": 7,
    "d": "timeoutSeconds specifies the timeout for this webhook. After the timeout passes, the webhook call will be ignored or the API call will fail based on the failure policy. The timeout value must be between 1 and 30 seconds. Default to 10 seconds."
   },
   {
    "j": "admissionReviewVersions",
    "t": "[]string",
    "p": 8,
    "lt": "atomic",
    "req": 1,
    "d": "admissionReviewVersions is an ordered list of preferred `AdmissionReview` versions the Webhook expects. API server will try to use first version in the list which it supports. If none of the versions specified in this list supported by API server, validation will fail for this object. If a persisted webhook configuration specifies allowed versions and does not include any versions known to the API Server, calls to the webhook will fail and be subject to the failure policy."
   },
   {
    "j": "reinvocationPolicy",
    "t": "*@io.k8s.api.admissionregistration.v1.ReinvocationPolicyType",
    "o": 1,
    "p": 10,
    "d": "reinvocationPolicy indicates whether this webhook should be called multiple times as part of a single admission evaluation. Allowed values are \"Never\" and \"IfNeeded\".\n\nNever: the webhook will not be called more than once in a single admission evaluation.\n\nIfNeeded: the webhook will be called at least one additional time as part of the admission evaluation if the object being admitted is modified by other admission plugins after the initial webhook call. Webhooks that specify this option *must* be idempotent, able to process objects they previously admitted. Note: * the number of additional invocations is not guaranteed to be exactly one. * if additional invocations result in further modifications to the object, webhooks are not guaranteed to be invoked again. * webhooks that use this option may be reordered to minimize the number of additional invocations. * to validate an object after all mutations are guaranteed complete, use a validating admission webhook instead.\n\nDefaults to \"Never\"."
   },
   {
    "j": "matchConditions",
    "t": "[]@io.k8s.api.admissionregistration.v1.MatchCondition",
    "o": 1,
    "p": 12,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "matchConditions is a list of conditions that must be met for a request to be sent to this webhook. Match conditions filter requests that have already been matched by the rules, namespaceSelector, and objectSelector. An empty list of matchConditions matches all requests. There are a maximum of 64 match conditions allowed.\n\nThe exact matching logic is (in order):\n  1. If ANY matchCondition evaluates to FALSE, the webhook is skipped.\n  2. If ALL matchConditions evaluate to TRUE, the webhook is called.\n  3. If any matchCondition evaluates to an error (but none are FALSE):\n     - If failurePolicy=Fail, reject the request\n     - If failurePolicy=Ignore, the error is ignored and the webhook is skipped"
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.MutatingWebhookConfiguration": {
  "go": "v1.MutatingWebhookConfiguration",
  "d": "MutatingWebhookConfiguration describes the configuration of and admission webhook that accept or reject and may change the object.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata; More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata."
   },
   {
    "j": "webhooks",
    "t": "[]@io.k8s.api.admissionregistration.v1.MutatingWebhook",
    "o": 1,
    "p": 2,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "webhooks is a list of webhooks and the affected resources and operations."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.MutatingWebhookConfigurationList": {
  "go": "v1.MutatingWebhookConfigurationList",
  "d": "MutatingWebhookConfigurationList is a list of MutatingWebhookConfiguration.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.admissionregistration.v1.MutatingWebhookConfiguration",
    "p": 2,
    "req": 1,
    "d": "List of MutatingWebhookConfiguration."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.Mutation": {
  "go": "v1.Mutation",
  "d": "Mutation specifies the CEL expression which is used to apply the Mutation.",
  "f": [
   {
    "j": "patchType",
    "t": "@io.k8s.api.admissionregistration.v1.PatchType",
    "p": 2,
    "req": 1,
    "d": "patchType indicates the patch strategy used. Allowed values are \"ApplyConfiguration\" and \"JSONPatch\". Required."
   },
   {
    "j": "applyConfiguration",
    "t": "*@io.k8s.api.admissionregistration.v1.ApplyConfiguration",
    "o": 1,
    "p": 3,
    "d": "applyConfiguration defines the desired configuration values of an object. The configuration is applied to the admission object using [structured merge diff](https://github.com/kubernetes-sigs/structured-merge-diff). A CEL expression is used to create apply configuration."
   },
   {
    "j": "jsonPatch",
    "t": "*@io.k8s.api.admissionregistration.v1.JSONPatch",
    "o": 1,
    "p": 4,
    "d": "jsonPatch defines a [JSON patch](https://jsonpatch.com/) operation to perform a mutation to the object. A CEL expression is used to create the JSON patch."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.NamedRuleWithOperations": {
  "go": "v1.NamedRuleWithOperations",
  "d": "NamedRuleWithOperations is a tuple of Operations and Resources with ResourceNames.",
  "f": [
   {
    "j": "resourceNames",
    "t": "[]string",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "resourceNames is an optional white list of names that the rule applies to.  An empty set means that everything is allowed."
   },
   {
    "j": "",
    "t": "@io.k8s.api.admissionregistration.v1.RuleWithOperations",
    "p": 2,
    "req": 1,
    "d": "RuleWithOperations is a tuple of Operations and Resources."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.admissionregistration.v1.OperationType": {
  "go": "v1.OperationType",
  "u": "string"
 },
 "io.k8s.api.admissionregistration.v1.ParamKind": {
  "go": "v1.ParamKind",
  "d": "ParamKind is a tuple of Group Kind and Version.",
  "f": [
   {
    "j": "apiVersion",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "apiVersion is the API group version the resources belong to. In format of \"group/version\". Required."
   },
   {
    "j": "kind",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "kind is the API kind the resources belong to. Required."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.admissionregistration.v1.ParamRef": {
  "go": "v1.ParamRef",
  "d": "ParamRef describes how to locate the params to be used as input to expressions of rules applied by a policy binding.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "name is the name of the resource being referenced.\n\nOne of `name` or `selector` must be set, but `name` and `selector` are mutually exclusive properties. If one is set, the other must be unset.\n\nA single parameter used for all admission requests can be configured by setting the `name` field, leaving `selector` blank, and setting namespace if `paramKind` is namespace-scoped."
   },
   {
    "j": "namespace",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "namespace is the namespace of the referenced resource. Allows limiting the search for params to a specific namespace. Applies to both `name` and `selector` fields.\n\nA per-namespace parameter may be used by specifying a namespace-scoped `paramKind` in the policy and leaving this field empty.\n\n- If `paramKind` is cluster-scoped, this field MUST be unset. Setting this field results in a configuration error.\n\n- If `paramKind` is namespace-scoped, the namespace of the object being evaluated for admission will be used when this field is left unset. Take care that if this is left empty the binding must not match any cluster-scoped resources, which will result in an error."
   },
   {
    "j": "selector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 3,
    "d": "selector can be used to match multiple param objects based on their labels. Supply selector: {} to match all resources of the ParamKind.\n\nIf multiple params are found, they are all evaluated with the policy expressions and the results are ANDed together.\n\nOne of `name` or `selector` must be set, but `name` and `selector` are mutually exclusive properties. If one is set, the other must be unset."
   },
   {
    "j": "parameterNotFoundAction",
    "t": "*@io.k8s.api.admissionregistration.v1.ParameterNotFoundActionType",
    "o": 1,
    "p": 4,
    "d": "parameterNotFoundAction controls the behavior of the binding when the resource exists, and name or selector is valid, but there are no parameters matched by the binding. If the value is set to `Allow`, then no matched parameters will be treated as successful validation by the binding. If set to `Deny`, then no matched parameters will be subject to the `failurePolicy` of the policy.\n\nAllowed values are `Allow` or `Deny`\n\nRequired"
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.admissionregistration.v1.ParameterNotFoundActionType": {
  "go": "v1.ParameterNotFoundActionType",
  "u": "string"
 },
 "io.k8s.api.admissionregistration.v1.PatchType": {
  "go": "v1.PatchType",
  "u": "string"
 },
 "io.k8s.api.admissionregistration.v1.ReinvocationPolicyType": {
  "go": "v1.ReinvocationPolicyType",
  "u": "string"
 },
 "io.k8s.api.admissionregistration.v1.Rule": {
  "go": "v1.Rule",
  "d": "Rule is a tuple of APIGroups, APIVersion, and Resources.It is recommended to make sure that all the tuple expansions are valid.",
  "f": [
   {
    "j": "apiGroups",
    "t": "[]string",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "apiGroups is the API groups the resources belong to. '*' is all groups. If '*' is present, the length of the slice must be one. Required."
   },
   {
    "j": "apiVersions",
    "t": "[]string",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "apiVersions is the API versions the resources belong to. '*' is all versions. If '*' is present, the length of the slice must be one. Required."
   },
   {
    "j": "resources",
    "t": "[]string",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "resources is a list of resources this rule applies to.\n\nFor example: 'pods' means pods. 'pods/log' means the log subresource of pods. '*' means all resources, but not subresources. 'pods/*' means all subresources of pods. '*/scale' means all scale subresources. '*/*' means all resources and their subresources.\n\nIf wildcard is present, the validation rule will ensure resources do not overlap with each other.\n\nDepending on the enclosing object, subresources might not be allowed. Required."
   },
   {
    "j": "scope",
    "t": "*@io.k8s.api.admissionregistration.v1.ScopeType",
    "o": 1,
    "p": 4,
    "d": "scope specifies the scope of this rule. Valid values are \"Cluster\", \"Namespaced\", and \"*\" \"Cluster\" means that only cluster-scoped resources will match this rule. Namespace API objects are cluster-scoped. \"Namespaced\" means that only namespaced resources will match this rule. \"*\" means that there are no scope restrictions. Subresources match the scope of their parent resource. Default is \"*\"."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.RuleWithOperations": {
  "go": "v1.RuleWithOperations",
  "d": "RuleWithOperations is a tuple of Operations and Resources. It is recommended to make sure that all the tuple expansions are valid.",
  "f": [
   {
    "j": "operations",
    "t": "[]@io.k8s.api.admissionregistration.v1.OperationType",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "operations is the operations the admission hook cares about - CREATE, UPDATE, DELETE, CONNECT or * for all of those operations and any future admission operations that are added. If '*' is present, the length of the slice must be one. Required."
   },
   {
    "j": "",
    "t": "@io.k8s.api.admissionregistration.v1.Rule",
    "p": 2,
    "req": 1,
    "d": "Rule is embedded, it describes other criteria of the rule, like APIGroups, APIVersions, Resources, etc."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.ScopeType": {
  "go": "v1.ScopeType",
  "u": "string"
 },
 "io.k8s.api.admissionregistration.v1.ServiceReference": {
  "go": "v1.ServiceReference",
  "d": "ServiceReference holds a reference to Service.legacy.k8s.io",
  "f": [
   {
    "j": "namespace",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "namespace is the namespace of the service. Required"
   },
   {
    "j": "name",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "name is the name of the service. Required"
   },
   {
    "j": "path",
    "t": "*string",
    "o": 1,
    "p": 3,
    "d": "path is an optional URL path which will be sent in any request to this service."
   },
   {
    "j": "port",
    "t": "*int32",
    "o": 1,
    "p": 4,
    "d": "port is the port on the service that hosts the webhook. Default to 443 for backward compatibility. `port` should be a valid port number (1-65535, inclusive)."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.SideEffectClass": {
  "go": "v1.SideEffectClass",
  "u": "string"
 },
 "io.k8s.api.admissionregistration.v1.TypeChecking": {
  "go": "v1.TypeChecking",
  "d": "TypeChecking contains results of type checking the expressions in the ValidatingAdmissionPolicy",
  "f": [
   {
    "j": "expressionWarnings",
    "t": "[]@io.k8s.api.admissionregistration.v1.ExpressionWarning",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "expressionWarnings contains the type checking warnings for each expression."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy": {
  "go": "v1.ValidatingAdmissionPolicy",
  "d": "ValidatingAdmissionPolicy describes the definition of an admission validation policy that accepts or rejects an object without changing it.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata; More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata."
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicySpec",
    "o": 1,
    "p": 2,
    "d": "spec defines the desired behavior of the ValidatingAdmissionPolicy."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyStatus",
    "o": 1,
    "p": 3,
    "d": "status represents the current status of the ValidatingAdmissionPolicy, including warnings that are useful to determine if the policy behaves in the expected way. Populated by the system. Read-only."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBinding": {
  "go": "v1.ValidatingAdmissionPolicyBinding",
  "d": "ValidatingAdmissionPolicyBinding binds the ValidatingAdmissionPolicy with paramerized resources. ValidatingAdmissionPolicyBinding and parameter CRDs together define how cluster administrators configure policies for clusters.\n\nFor a given admission request, each binding will cause its policy to be evaluated N times, where N is 1 for policies/bindings that don't use params, otherwise N is the number of parameters selected by the binding.\n\nThe CEL expressions of a policy must have a computed CEL cost below the maximum CEL budget. Each evaluation of the policy is given an independent CEL cost budget. Adding/removing policies, bindings, or params can not affect whether a given (policy, binding, param) combination is within its own CEL budget.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata; More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata."
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec",
    "o": 1,
    "p": 2,
    "req": 1,
    "d": "spec defines the desired behavior of the ValidatingAdmissionPolicyBinding."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBindingList": {
  "go": "v1.ValidatingAdmissionPolicyBindingList",
  "d": "ValidatingAdmissionPolicyBindingList is a list of ValidatingAdmissionPolicyBinding.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBinding",
    "p": 2,
    "req": 1,
    "d": "List of PolicyBinding."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec": {
  "go": "v1.ValidatingAdmissionPolicyBindingSpec",
  "d": "ValidatingAdmissionPolicyBindingSpec is the specification of the ValidatingAdmissionPolicyBinding.",
  "f": [
   {
    "j": "policyName",
    "t": "string",
    "o": 1,
    "p": 1,
    "req": 1,
    "d": "policyName references a ValidatingAdmissionPolicy name which the ValidatingAdmissionPolicyBinding binds to. If the referenced resource does not exist, this binding is considered invalid and will be ignored Required."
   },
   {
    "j": "paramRef",
    "t": "*@io.k8s.api.admissionregistration.v1.ParamRef",
    "o": 1,
    "p": 2,
    "d": "paramRef specifies the parameter resource used to configure the admission control policy. It should point to a resource of the type specified in ParamKind of the bound ValidatingAdmissionPolicy. If the policy specifies a ParamKind and the resource referred to by ParamRef does not exist, this binding is considered mis-configured and the FailurePolicy of the ValidatingAdmissionPolicy applied. If the policy does not specify a ParamKind then this field is ignored, and the rules are evaluated without a param."
   },
   {
    "j": "matchResources",
    "t": "*@io.k8s.api.admissionregistration.v1.MatchResources",
    "o": 1,
    "p": 3,
    "d": "matchResources declares what resources match this binding and will be validated by it. Note that this is intersected with the policy's matchConstraints, so only requests that are matched by the policy can be selected by this. If this is unset, all resources matched by the policy are validated by this binding When resourceRules is unset, it does not constrain resource matching. If a resource is matched by the other fields of this object, it will be validated. Note that this is differs from ValidatingAdmissionPolicy matchConstraints, where resourceRules are required."
   },
   {
    "j": "validationActions",
    "t": "[]@io.k8s.api.admissionregistration.v1.ValidationAction",
    "o": 1,
    "p": 4,
    "lt": "set",
    "req": 1,
    "d": "validationActions declares how Validations of the referenced ValidatingAdmissionPolicy are enforced. If a validation evaluates to false it is always enforced according to these actions.\n\nFailures defined by the ValidatingAdmissionPolicy's FailurePolicy are enforced according to these actions only if the FailurePolicy is set to Fail, otherwise the failures are ignored. This includes compilation errors, runtime errors and misconfigurations of the policy.\n\nvalidationActions is declared as a set of action values. Order does not matter. validationActions may not contain duplicates of the same action.\n\nThe supported actions values are:\n\n\"Deny\" specifies that a validation failure results in a denied request.\n\n\"Warn\" specifies that a validation failure is reported to the request client in HTTP Warning headers, with a warning code of 299. Warnings can be sent both for allowed or denied admission responses.\n\n\"Audit\" specifies that a validation failure is included in the published audit event for the request. The audit event will contain a `validation.policy.admission.k8s.io/validation_failure` audit annotation with a value containing the details of the validation failures, formatted as a JSON list of objects, each with the following fields: - message: The validation failure message string - policy: The resource name of the ValidatingAdmissionPolicy - binding: The resource name of the ValidatingAdmissionPolicyBinding - expressionIndex: The index of the failed validations in the ValidatingAdmissionPolicy - validationActions: The enforcement actions enacted for the validation failure Example audit annotation: `\"validation.policy.admission.k8s.io/validation_failure\": \"[{\\\"message\\\": \\\"Invalid value\\\", {\\\"policy\\\": \\\"policy.example.com\\\", {\\\"binding\\\": \\\"policybinding.example.com\\\", {\\\"expressionIndex\\\": \\\"1\\\", {\\\"validationActions\\\": [\\\"Audit\\\"]}]\"`\n\nClients should expect to handle additional values by ignoring any values not recognized.\n\n\"Deny\" and \"Warn\" may not be used together since this combination needlessly duplicates the validation failure both in the API response body and the HTTP warning headers.\n\nRequired."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyList": {
  "go": "v1.ValidatingAdmissionPolicyList",
  "d": "ValidatingAdmissionPolicyList is a list of ValidatingAdmissionPolicy.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy",
    "p": 2,
    "req": 1,
    "d": "List of ValidatingAdmissionPolicy."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicySpec": {
  "go": "v1.ValidatingAdmissionPolicySpec",
  "d": "ValidatingAdmissionPolicySpec is the specification of the desired behavior of the AdmissionPolicy.",
  "f": [
   {
    "j": "paramKind",
    "t": "*@io.k8s.api.admissionregistration.v1.ParamKind",
    "o": 1,
    "p": 1,
    "d": "paramKind specifies the kind of resources used to parameterize this policy. If absent, there are no parameters for this policy and the param CEL variable will not be provided to validation expressions. If ParamKind refers to a non-existent kind, this policy definition is mis-configured and the FailurePolicy is applied. If paramKind is specified but paramRef is unset in ValidatingAdmissionPolicyBinding, the params variable will be null."
   },
   {
    "j": "matchConstraints",
    "t": "*@io.k8s.api.admissionregistration.v1.MatchResources",
    "o": 1,
    "p": 2,
    "d": "matchConstraints specifies what resources this policy is designed to validate. The AdmissionPolicy cares about a request if it matches _all_ Constraints. However, in order to prevent clusters from being put into an unstable state that cannot be recovered from via the API ValidatingAdmissionPolicy cannot match ValidatingAdmissionPolicy and ValidatingAdmissionPolicyBinding. Required."
   },
   {
    "j": "validations",
    "t": "[]@io.k8s.api.admissionregistration.v1.Validation",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "validations contain CEL expressions which is used to apply the validation. Validations and AuditAnnotations may not both be empty; a minimum of one Validations or AuditAnnotations is required."
   },
   {
    "j": "failurePolicy",
    "t": "*@io.k8s.api.admissionregistration.v1.FailurePolicyType",
    "o": 1,
    "p": 4,
    "d": "failurePolicy defines how to handle failures for the admission policy. Failures can occur from CEL expression parse errors, type check errors, runtime errors and invalid or mis-configured policy definitions or bindings.\n\nA policy is invalid if spec.paramKind refers to a non-existent Kind. A binding is invalid if spec.paramRef.name refers to a non-existent resource.\n\nfailurePolicy does not define how validations that evaluate to false are handled.\n\nWhen failurePolicy is set to Fail, ValidatingAdmissionPolicyBinding validationActions define how failures are enforced.\n\nAllowed values are Ignore or Fail. Defaults to Fail."
   },
   {
    "j": "auditAnnotations",
    "t": "[]@io.k8s.api.admissionregistration.v1.AuditAnnotation",
    "o": 1,
    "p": 5,
    "lt": "atomic",
    "d": "auditAnnotations contains CEL expressions which are used to produce audit annotations for the audit event of the API request. validations and auditAnnotations may not both be empty; a least one of validations or auditAnnotations is required."
   },
   {
    "j": "matchConditions",
    "t": "[]@io.k8s.api.admissionregistration.v1.MatchCondition",
    "o": 1,
    "p": 6,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "matchConditions is a list of conditions that must be met for a request to be validated. Match conditions filter requests that have already been matched by the rules, namespaceSelector, and objectSelector. An empty list of matchConditions matches all requests. There are a maximum of 64 match conditions allowed.\n\nIf a parameter object is provided, it can be accessed via the `params` handle in the same manner as validation expressions.\n\nThe exact matching logic is (in order):\n  1. If ANY matchCondition evaluates to FALSE, the policy is skipped.\n  2. If ALL matchConditions evaluate to TRUE, the policy is evaluated.\n  3. If any matchCondition evaluates to an error (but none are FALSE):\n     - If failurePolicy=Fail, reject the request\n     - If failurePolicy=Ignore, the policy is skipped"
   },
   {
    "j": "variables",
    "t": "[]@io.k8s.api.admissionregistration.v1.Variable",
    "o": 1,
    "p": 7,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "variables contain definitions of variables that can be used in composition of other expressions. Each variable is defined as a named CEL expression. The variables defined here will be available under `variables` in other expressions of the policy except MatchConditions because MatchConditions are evaluated before the rest of the policy.\n\nThe expression of a variable can refer to other variables defined earlier in the list but not those after. Thus, Variables must be sorted by the order of first appearance and acyclic."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyStatus": {
  "go": "v1.ValidatingAdmissionPolicyStatus",
  "d": "ValidatingAdmissionPolicyStatus represents the status of an admission validation policy.",
  "f": [
   {
    "j": "observedGeneration",
    "t": "int64",
    "o": 1,
    "p": 1,
    "d": "observedGeneration is the generation observed by the controller."
   },
   {
    "j": "typeChecking",
    "t": "*@io.k8s.api.admissionregistration.v1.TypeChecking",
    "o": 1,
    "p": 2,
    "d": "typeChecking contains the results of type checking for each expression. Presence of this field indicates the completion of the type checking."
   },
   {
    "j": "conditions",
    "t": "[]@io.k8s.apimachinery.pkg.apis.meta.v1.Condition",
    "o": 1,
    "p": 3,
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "conditions represent the latest available observations of a policy's current state."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.ValidatingWebhook": {
  "go": "v1.ValidatingWebhook",
  "d": "ValidatingWebhook describes an admission webhook and the resources and operations it applies to.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name is the name of the admission webhook. Name should be fully qualified, e.g., imagepolicy.kubernetes.io, where \"imagepolicy\" is the name of the webhook, and kubernetes.io is the name of the organization. Required."
   },
   {
    "j": "clientConfig",
    "t": "@io.k8s.api.admissionregistration.v1.WebhookClientConfig",
    "p": 2,
    "req": 1,
    "d": "clientConfig defines how to communicate with the hook. Required"
   },
   {
    "j": "rules",
    "t": "[]@io.k8s.api.admissionregistration.v1.RuleWithOperations",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "rules describes what operations on what resources/subresources the webhook cares about. The webhook cares about an operation if it matches _any_ Rule. However, in order to prevent ValidatingAdmissionWebhooks and MutatingAdmissionWebhooks from putting the cluster in a state which cannot be recovered from without completely disabling the plugin, ValidatingAdmissionWebhooks and MutatingAdmissionWebhooks are never called on admission requests for ValidatingWebhookConfiguration and MutatingWebhookConfiguration objects."
   },
   {
    "j": "failurePolicy",
    "t": "*@io.k8s.api.admissionregistration.v1.FailurePolicyType",
    "o": 1,
    "p": 4,
    "d": "failurePolicy defines how unrecognized errors from the admission endpoint are handled - allowed values are Ignore or Fail. Defaults to Fail."
   },
   {
    "j": "matchPolicy",
    "t": "*@io.k8s.api.admissionregistration.v1.MatchPolicyType",
    "o": 1,
    "p": 9,
    "d": "matchPolicy defines how the \"rules\" list is used to match incoming requests. Allowed values are \"Exact\" or \"Equivalent\".\n\n- Exact: match a request only if it exactly matches a specified rule. For example, if deployments can be modified via apps/v1, apps/v1beta1, and extensions/v1beta1, but \"rules\" only included `apiGroups:[\"apps\"], apiVersions:[\"v1\"], resources: [\"deployments\"]`, a request to apps/v1beta1 or extensions/v1beta1 would not be sent to the webhook.\n\n- Equivalent: match a request if modifies a resource listed in rules, even via another API group or version. For example, if deployments can be modified via apps/v1, apps/v1beta1, and extensions/v1beta1, and \"rules\" only included `apiGroups:[\"apps\"], apiVersions:[\"v1\"], resources: [\"deployments\"]`, a request to apps/v1beta1 or extensions/v1beta1 would be converted to apps/v1 and sent to the webhook.\n\nDefaults to \"Equivalent\""
   },
   {
    "j": "namespaceSelector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 5,
    "d": "namespaceSelector decides whether to run the webhook on an object based on whether the namespace for that object matches the selector. If the object itself is a namespace, the matching is performed on object.metadata.labels. If the object is another cluster scoped resource, it never skips the webhook.\n\nFor example, to run the webhook on any objects whose namespace is not associated with \"runlevel\" of \"0\" or \"1\";  you will set the selector as follows: \"namespaceSelector\": {\n  \"matchExpressions\": [\n    {\n      \"key\": \"runlevel\",\n      \"operator\": \"NotIn\",\n      \"values\": [\n        \"0\",\n        \"1\"\n      ]\n    }\n  ]\n}\n\nIf instead you want to only run the webhook on any objects whose namespace is associated with the \"environment\" of \"prod\" or \"staging\"; you will set the selector as follows: \"namespaceSelector\": {\n  \"matchExpressions\": [\n    {\n      \"key\": \"environment\",\n      \"operator\": \"In\",\n      \"values\": [\n        \"prod\",\n        \"staging\"\n      ]\n    }\n  ]\n}\n\nSee https://kubernetes.io/docs/concepts/overview/working-with-objects/labels for more examples of label selectors.\n\nDefault to the empty LabelSelector, which matches everything."
   },
   {
    "j": "objectSelector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 10,
    "d": "objectSelector decides whether to run the webhook based on if the object has matching labels. objectSelector is evaluated against both the oldObject and newObject that would be sent to the webhook, and is considered to match if either object matches the selector. A null object (oldObject in the case of create, or newObject in the case of delete) or an object that cannot have labels (like a DeploymentRollback or a PodProxyOptions object) is not considered to match. Use the object selector only if the webhook is opt-in, because end users may skip the admission webhook by setting the labels. Default to the empty LabelSelector, which matches everything."
   },
   {
    "j": "sideEffects",
    "t": "*@io.k8s.api.admissionregistration.v1.SideEffectClass",
    "p": 6,
    "req": 1,
    "d": "sideEffects states whether this webhook has side effects. Acceptable values are: None, NoneOnDryRun (webhooks created via v1beta1 may also specify Some or Unknown). Webhooks with side effects MUST implement a reconciliation system, since a request may be rejected by a future step in the admission chain and the side effects therefore need to be undone. Requests with the dryRun attribute will be auto-rejected if they match a webhook with sideEffects == Unknown or Some."
   },
   {
    "j": "timeoutSeconds",
    "t": "*int32",
    "o": 1,
    "p": 7,
    "d": "timeoutSeconds specifies the timeout for this webhook. After the timeout passes, the webhook call will be ignored or the API call will fail based on the failure policy. The timeout value must be between 1 and 30 seconds. Default to 10 seconds."
   },
   {
    "j": "admissionReviewVersions",
    "t": "[]string",
    "p": 8,
    "lt": "atomic",
    "req": 1,
    "d": "admissionReviewVersions is an ordered list of preferred `AdmissionReview` versions the Webhook expects. API server will try to use first version in the list which it supports. If none of the versions specified in this list supported by API server, validation will fail for this object. If a persisted webhook configuration specifies allowed versions and does not include any versions known to the API Server, calls to the webhook will fail and be subject to the failure policy."
   },
   {
    "j": "matchConditions",
    "t": "[]@io.k8s.api.admissionregistration.v1.MatchCondition",
    "o": 1,
    "p": 11,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "matchConditions is a list of conditions that must be met for a request to be sent to this webhook. Match conditions filter requests that have already been matched by the rules, namespaceSelector, and objectSelector. An empty list of matchConditions matches all requests. There are a maximum of 64 match conditions allowed.\n\nThe exact matching logic is (in order):\n  1. If ANY matchCondition evaluates to FALSE, the webhook is skipped.\n  2. If ALL matchConditions evaluate to TRUE, the webhook is called.\n  3. If any matchCondition evaluates to an error (but none are FALSE):\n     - If failurePolicy=Fail, reject the request\n     - If failurePolicy=Ignore, the error is ignored and the webhook is skipped"
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration": {
  "go": "v1.ValidatingWebhookConfiguration",
  "d": "ValidatingWebhookConfiguration describes the configuration of and admission webhook that accept or reject and object without changing it.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata; More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata."
   },
   {
    "j": "webhooks",
    "t": "[]@io.k8s.api.admissionregistration.v1.ValidatingWebhook",
    "o": 1,
    "p": 2,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "webhooks is a list of webhooks and the affected resources and operations."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.ValidatingWebhookConfigurationList": {
  "go": "v1.ValidatingWebhookConfigurationList",
  "d": "ValidatingWebhookConfigurationList is a list of ValidatingWebhookConfiguration.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration",
    "p": 2,
    "req": 1,
    "d": "List of ValidatingWebhookConfiguration."
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.Validation": {
  "go": "v1.Validation",
  "d": "Validation specifies the CEL expression which is used to apply the validation.",
  "f": [
   {
    "j": "expression",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "expression represents the expression which will be evaluated by CEL. ref: https://github.com/google/cel-spec CEL expressions have access to the contents of the API request/response, organized into CEL variables as well as some other useful variables:\n\n- 'object' - The object from the incoming request. The value is null for DELETE requests. - 'oldObject' - The existing object. The value is null for CREATE requests. - 'request' - Attributes of the API request([ref](/pkg/apis/admission/types.go#AdmissionRequest)). - 'params' - Parameter resource referred to by the policy binding being evaluated. Only populated if the policy has a ParamKind. - 'namespaceObject' - The namespace object that the incoming object belongs to. The value is null for cluster-scoped resources. - 'variables' - Map of composited variables, from its name to its lazily evaluated value.\n  For example, a variable named 'foo' can be accessed as 'variables.foo'.\n- 'authorizer' - A CEL Authorizer. May be used to perform authorization checks for the principal (user or service account) of the request.\n  See https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#Authz\n- 'authorizer.requestResource' - A CEL ResourceCheck constructed from the 'authorizer' and configured with the\n  request resource.\n\nThe `apiVersion`, `kind`, `metadata.name` and `metadata.generateName` are always accessible from the root of the object. No other metadata properties are accessible.\n\nOnly property names of the form `[a-zA-Z_.-/][a-zA-Z0-9_.-/]*` are accessible. Accessible property names are escaped according to the following rules when accessed in the expression: - '__' escapes to '__underscores__' - '.' escapes to '__dot__' - '-' escapes to '__dash__' - '/' escapes to '__slash__' - Property names that exactly match a CEL RESERVED keyword escape to '__{keyword}__'. The keywords are:\n\t  \"true\", \"false\", \"null\", \"in\", \"as\", \"break\", \"const\", \"continue\", \"else\", \"for\", \"function\", \"if\",\n\t  \"import\", \"let\", \"loop\", \"package\", \"namespace\", \"return\".\nExamples:\n  - Expression accessing a property named \"namespace\": {\"Expression\": \"object.__namespace__ > 0\"}\n  - Expression accessing a property named \"x-prop\": {\"Expression\": \"object.x__dash__prop > 0\"}\n  - Expression accessing a property named \"redact__d\": {\"Expression\": \"object.redact__underscores__d > 0\"}\n\nEquality on arrays with list type of 'set' or 'map' ignores element order, i.e. [1, 2] == [2, 1]. Concatenation on arrays with x-kubernetes-list-type use the semantics of the list type:\n  - 'set': `X + Y` performs a union where the array positions of all elements in `X` are preserved and\n    non-intersecting elements in `Y` are appended, retaining their partial order.\n  - 'map': `X + Y` performs a merge where the array positions of all keys in `X` are preserved but the values\n    are overwritten by values in `Y` when the key sets of `X` and `Y` intersect. Elements in `Y` with\n    non-intersecting keys are appended, retaining their partial order.\nRequired."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "message represents the message displayed when validation fails. The message is required if the Expression contains line breaks. The message must not contain line breaks. If unset, the message is \"failed rule: {Rule}\". e.g. \"must be a URL with the host matching spec.host\" If the Expression contains line breaks. Message is required. The message must not contain line breaks. If unset, the message is \"failed Expression: {Expression}\"."
   },
   {
    "j": "reason",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.StatusReason",
    "o": 1,
    "p": 3,
    "d": "reason represents a machine-readable description of why this validation failed. If this is the first validation in the list to fail, this reason, as well as the corresponding HTTP response code, are used in the HTTP response to the client. The currently supported reasons are: \"Unauthorized\", \"Forbidden\", \"Invalid\", \"RequestEntityTooLarge\". If not set, StatusReasonInvalid is used in the response to the client."
   },
   {
    "j": "messageExpression",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "messageExpression declares a CEL expression that evaluates to the validation failure message that is returned when this rule fails. Since messageExpression is used as a failure message, it must evaluate to a string. If both message and messageExpression are present on a validation, then messageExpression will be used if validation fails. If messageExpression results in a runtime error, the runtime error is logged, and the validation failure message is produced as if the messageExpression field were unset. If messageExpression evaluates to an empty string, a string with only spaces, or a string that contains line breaks, then the validation failure message will also be produced as if the messageExpression field were unset, and the fact that messageExpression produced an empty string/string with only spaces/string with line breaks will be logged. messageExpression has access to all the same variables as the `expression` except for 'authorizer' and 'authorizer.requestResource'. Example: \"object.x must be less than max (\"+string(params.max)+\")\""
   }
  ]
 },
 "io.k8s.api.admissionregistration.v1.ValidationAction": {
  "go": "v1.ValidationAction",
  "u": "string"
 },
 "io.k8s.api.admissionregistration.v1.Variable": {
  "go": "v1.Variable",
  "d": "Variable is the definition of a variable that is used for composition. A variable is defined as a named expression.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name is the name of the variable. The name must be a valid CEL identifier and unique among all variables. The variable can be accessed in other expressions through `variables` For example, if name is \"foo\", the variable will be available as `variables.foo`"
   },
   {
    "j": "expression",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "expression is the expression that will be evaluated as the value of the variable. The CEL expression has access to the same identifiers as the CEL expressions in Validation."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.admissionregistration.v1.WebhookClientConfig": {
  "go": "v1.WebhookClientConfig",
  "d": "WebhookClientConfig contains the information to make a TLS connection with the webhook",
  "f": [
   {
    "j": "url",
    "t": "*string",
    "o": 1,
    "p": 3,
    "d": "url gives the location of the webhook, in standard URL form (`scheme://host:port/path`). Exactly one of `url` or `service` must be specified.\n\nThe `host` should not refer to a service running in the cluster; use the `service` field instead. The host might be resolved via external DNS in some apiservers (e.g., `kube-apiserver` cannot resolve in-cluster DNS as that would be a layering violation). `host` may also be an IP address.\n\nPlease note that using `localhost` or `127.0.0.1` as a `host` is risky unless you take great care to run this webhook on all hosts which run an apiserver which might need to make calls to this webhook. Such installs are likely to be non-portable, i.e., not easy to turn up in a new cluster.\n\nThe scheme must be \"https\"; the URL must begin with \"https://\".\n\nA path is optional, and if present may be any string permissible in a URL. You may use the path to pass an arbitrary string to the webhook, for example, a cluster identifier.\n\nAttempting to use a user or basic auth e.g. \"user:password@\" is not allowed. Fragments (\"#...\") and query parameters (\"?...\") are not allowed, either."
   },
   {
    "j": "service",
    "t": "*@io.k8s.api.admissionregistration.v1.ServiceReference",
    "o": 1,
    "p": 1,
    "d": "service is a reference to the service for this webhook. Either `service` or `url` must be specified.\n\nIf the webhook is running within the cluster, then you should use `service`."
   },
   {
    "j": "caBundle",
    "t": "bytes",
    "o": 1,
    "p": 2,
    "d": "caBundle is a PEM encoded CA bundle which will be used to validate the webhook's server certificate. If unspecified, system trust roots on the apiserver are used."
   }
  ]
 },
 "io.k8s.api.apps.v1.ControllerRevision": {
  "go": "v1.ControllerRevision",
  "d": "ControllerRevision implements an immutable snapshot of state data. Clients are responsible for serializing and deserializing the objects that contain their internal state. Once a ControllerRevision has been successfully created, it can not be updated. The API Server will fail validation of all requests that attempt to mutate the Data field. ControllerRevisions may, however, be deleted. Note that, due to its use by both the DaemonSet and StatefulSet controllers for update and rollback, this object is beta. However, it may be subject to name and representation changes in future releases, and clients should not depend on its stability. It is primarily for internal use by controllers.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "data",
    "t": "@io.k8s.apimachinery.pkg.runtime.RawExtension",
    "p": 2,
    "req": 1,
    "d": "Data is the serialized representation of the state."
   },
   {
    "j": "revision",
    "t": "int64",
    "p": 3,
    "d": "Revision indicates the revision of the state represented by Data."
   }
  ]
 },
 "io.k8s.api.apps.v1.ControllerRevisionList": {
  "go": "v1.ControllerRevisionList",
  "d": "ControllerRevisionList is a resource containing a list of ControllerRevision objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.apps.v1.ControllerRevision",
    "p": 2,
    "req": 1,
    "d": "Items is the list of ControllerRevisions"
   }
  ]
 },
 "io.k8s.api.apps.v1.DaemonSet": {
  "go": "v1.DaemonSet",
  "d": "DaemonSet represents the configuration of a daemon set.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.apps.v1.DaemonSetSpec",
    "o": 1,
    "p": 2,
    "req": 1,
    "d": "The desired behavior of this daemon set. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.apps.v1.DaemonSetStatus",
    "o": 1,
    "p": 3,
    "d": "The current status of this daemon set. This data may be out of date by some window of time. Populated by the system. Read-only. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.apps.v1.DaemonSetCondition": {
  "go": "v1.DaemonSetCondition",
  "d": "DaemonSetCondition describes the state of a DaemonSet at a certain point.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.apps.v1.DaemonSetConditionType",
    "p": 1,
    "d": "Type of DaemonSet condition."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ConditionStatus",
    "p": 2,
    "d": "Status of the condition, one of True, False, Unknown."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 3,
    "d": "Last time the condition transitioned from one status to another."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "The reason for the condition's last transition."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "A human readable message indicating details about the transition."
   }
  ]
 },
 "io.k8s.api.apps.v1.DaemonSetConditionType": {
  "go": "v1.DaemonSetConditionType",
  "u": "string"
 },
 "io.k8s.api.apps.v1.DaemonSetList": {
  "go": "v1.DaemonSetList",
  "d": "DaemonSetList is a collection of daemon sets.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.apps.v1.DaemonSet",
    "p": 2,
    "req": 1,
    "d": "A list of daemon sets."
   }
  ]
 },
 "io.k8s.api.apps.v1.DaemonSetSpec": {
  "go": "v1.DaemonSetSpec",
  "d": "DaemonSetSpec is the specification of a daemon set.",
  "f": [
   {
    "j": "selector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "p": 1,
    "req": 1,
    "d": "A label query over pods that are managed by the daemon set. Must match in order to be controlled. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors"
   },
   {
    "j": "template",
    "t": "@io.k8s.api.core.v1.PodTemplateSpec",
    "p": 2,
    "req": 1,
    "d": "An object that describes the pod that will be created. The DaemonSet will create exactly one copy of this pod on every node that matches the template's node selector (or on every node if no node selector is specified). The only allowed template.spec.restartPolicy value is \"Always\". More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#pod-template"
   },
   {
    "j": "updateStrategy",
    "t": "@io.k8s.api.apps.v1.DaemonSetUpdateStrategy",
    "o": 1,
    "p": 3,
    "d": "An update strategy to replace existing DaemonSet pods with new pods."
   },
   {
    "j": "minReadySeconds",
    "t": "int32",
    "o": 1,
    "p": 4,
    "d": "The minimum number of seconds for which a newly created DaemonSet pod should be ready without any of its container crashing, for it to be considered available. Defaults to 0 (pod will be considered available as soon as it is ready)."
   },
   {
    "j": "revisionHistoryLimit",
    "t": "*int32",
    "o": 1,
    "p": 6,
    "d": "The number of old history to retain to allow rollback. This is a pointer to distinguish between explicit zero and not specified. Defaults to 10."
   }
  ]
 },
 "io.k8s.api.apps.v1.DaemonSetStatus": {
  "go": "v1.DaemonSetStatus",
  "d": "DaemonSetStatus represents the current status of a daemon set.",
  "f": [
   {
    "j": "currentNumberScheduled",
    "t": "int32",
    "p": 1,
    "req": 1,
    "d": "The number of nodes that are running at least 1 daemon pod and are supposed to run the daemon pod. More info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/"
   },
   {
    "j": "numberMisscheduled",
    "t": "int32",
    "p": 2,
    "req": 1,
    "d": "The number of nodes that are running the daemon pod, but are not supposed to run the daemon pod. More info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/"
   },
   {
    "j": "desiredNumberScheduled",
    "t": "int32",
    "p": 3,
    "req": 1,
    "d": "The total number of nodes that should be running the daemon pod (including nodes correctly running the daemon pod). More info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/"
   },
   {
    "j": "numberReady",
    "t": "int32",
    "p": 4,
    "req": 1,
    "d": "numberReady is the number of nodes that should be running the daemon pod and have one or more of the daemon pod running with a Ready Condition."
   },
   {
    "j": "observedGeneration",
    "t": "int64",
    "o": 1,
    "p": 5,
    "d": "The most recent generation observed by the daemon set controller."
   },
   {
    "j": "updatedNumberScheduled",
    "t": "int32",
    "o": 1,
    "p": 6,
    "d": "The total number of nodes that are running updated daemon pod"
   },
   {
    "j": "numberAvailable",
    "t": "int32",
    "o": 1,
    "p": 7,
    "d": "The number of nodes that should be running the daemon pod and have one or more of the daemon pod running and available (ready for at least spec.minReadySeconds)"
   },
   {
    "j": "numberUnavailable",
    "t": "int32",
    "o": 1,
    "p": 8,
    "d": "The number of nodes that should be running the daemon pod and have none of the daemon pod running and available (ready for at least spec.minReadySeconds)"
   },
   {
    "j": "collisionCount",
    "t": "*int32",
    "o": 1,
    "p": 9,
    "d": "Count of hash collisions for the DaemonSet. The DaemonSet controller uses this field as a collision avoidance mechanism when it needs to create the name for the newest ControllerRevision."
   },
   {
    "j": "conditions",
    "t": "[]@io.k8s.api.apps.v1.DaemonSetCondition",
    "o": 1,
    "p": 10,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "Represents the latest available observations of a DaemonSet's current state."
   }
  ]
 },
 "io.k8s.api.apps.v1.DaemonSetUpdateStrategy": {
  "go": "v1.DaemonSetUpdateStrategy",
  "d": "DaemonSetUpdateStrategy is a struct used to control the update strategy for a DaemonSet.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.apps.v1.DaemonSetUpdateStrategyType",
    "o": 1,
    "p": 1,
    "d": "Type of daemon set update. Can be \"RollingUpdate\" or \"OnDelete\". Default is RollingUpdate."
   },
   {
    "j": "rollingUpdate",
    "t": "*@io.k8s.api.apps.v1.RollingUpdateDaemonSet",
    "o": 1,
    "p": 2,
    "d": "Rolling update config params. Present only if type = \"RollingUpdate\"."
   }
  ]
 },
 "io.k8s.api.apps.v1.DaemonSetUpdateStrategyType": {
  "go": "v1.DaemonSetUpdateStrategyType",
  "u": "string"
 },
 "io.k8s.api.apps.v1.Deployment": {
  "go": "v1.Deployment",
  "d": "Deployment enables declarative updates for Pods and ReplicaSets.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.apps.v1.DeploymentSpec",
    "o": 1,
    "p": 2,
    "req": 1,
    "d": "Specification of the desired behavior of the Deployment."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.apps.v1.DeploymentStatus",
    "o": 1,
    "p": 3,
    "d": "Most recently observed status of the Deployment."
   }
  ]
 },
 "io.k8s.api.apps.v1.DeploymentCondition": {
  "go": "v1.DeploymentCondition",
  "d": "DeploymentCondition describes the state of a deployment at a certain point.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.apps.v1.DeploymentConditionType",
    "p": 1,
    "d": "Type of deployment condition."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ConditionStatus",
    "p": 2,
    "d": "Status of the condition, one of True, False, Unknown."
   },
   {
    "j": "lastUpdateTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 6,
    "d": "The last time this condition was updated."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 7,
    "d": "Last time the condition transitioned from one status to another."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "The reason for the condition's last transition."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "A human readable message indicating details about the transition."
   }
  ]
 },
 "io.k8s.api.apps.v1.DeploymentConditionType": {
  "go": "v1.DeploymentConditionType",
  "u": "string"
 },
 "io.k8s.api.apps.v1.DeploymentList": {
  "go": "v1.DeploymentList",
  "d": "DeploymentList is a list of Deployments.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata."
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.apps.v1.Deployment",
    "p": 2,
    "req": 1,
    "d": "Items is the list of Deployments."
   }
  ]
 },
 "io.k8s.api.apps.v1.DeploymentSpec": {
  "go": "v1.DeploymentSpec",
  "d": "DeploymentSpec is the specification of the desired behavior of the Deployment.",
  "f": [
   {
    "j": "replicas",
    "t": "*int32",
    "o": 1,
    "p": 1,
    "d": "Number of desired pods. This is a pointer to distinguish between explicit zero and not specified. Defaults to 1."
   },
   {
    "j": "selector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "p": 2,
    "req": 1,
    "d": "Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this deployment. It must match the pod template's labels."
   },
   {
    "j": "template",
    "t": "@io.k8s.api.core.v1.PodTemplateSpec",
    "p": 3,
    "req": 1,
    "d": "Template describes the pods that will be created. The only allowed template.spec.restartPolicy value is \"Always\"."
   },
   {
    "j": "strategy",
    "t": "@io.k8s.api.apps.v1.DeploymentStrategy",
    "o": 1,
    "p": 4,
    "ps": "retainKeys",
    "d": "The deployment strategy to use to replace existing pods with new ones."
   },
   {
    "j": "minReadySeconds",
    "t": "int32",
    "o": 1,
    "p": 5,
    "d": "Minimum number of seconds for which a newly created pod should be ready without any of its container crashing, for it to be considered available. Defaults to 0 (pod will be considered available as soon as it is ready)"
   },
   {
    "j": "revisionHistoryLimit",
    "t": "*int32",
    "o": 1,
    "p": 6,
    "d": "The number of old ReplicaSets to retain to allow rollback. This is a pointer to distinguish between explicit zero and not specified. Defaults to 10."
   },
   {
    "j": "paused",
    "t": "bool",
    "o": 1,
    "p": 7,
    "d": "Indicates that the deployment is paused."
   },
   {
    "j": "progressDeadlineSeconds",
    "t": "*int32",
    "o": 1,
    "p": 9,
    "d": "The maximum time in seconds for a deployment to make progress before it is considered to be failed. The deployment controller will continue to process failed deployments and a condition with a ProgressDeadlineExceeded reason will be surfaced in the deployment status. Note that progress will not be estimated during the time a deployment is paused. Defaults to 600s."
   }
  ]
 },
 "io.k8s.api.apps.v1.DeploymentStatus": {
  "go": "v1.DeploymentStatus",
  "d": "DeploymentStatus is the most recently observed status of the Deployment.",
  "f": [
   {
    "j": "observedGeneration",
    "t": "int64",
    "o": 1,
    "p": 1,
    "d": "The generation observed by the deployment controller."
   },
   {
    "j": "replicas",
    "t": "int32",
    "o": 1,
    "p": 2,
    "d": "Total number of non-terminating pods targeted by this deployment (their labels match the selector)."
   },
   {
    "j": "updatedReplicas",
    "t": "int32",
    "o": 1,
    "p": 3,
    "d": "Total number of non-terminating pods targeted by this deployment that have the desired template spec."
   },
   {
    "j": "readyReplicas",
    "t": "int32",
    "o": 1,
    "p": 7,
    "d": "Total number of non-terminating pods targeted by this Deployment with a Ready Condition."
   },
   {
    "j": "availableReplicas",
    "t": "int32",
    "o": 1,
    "p": 4,
    "d": "Total number of available non-terminating pods (ready for at least minReadySeconds) targeted by this deployment."
   },
   {
    "j": "unavailableReplicas",
    "t": "int32",
    "o": 1,
    "p": 5,
    "d": "Total number of unavailable pods targeted by this deployment. This is the total number of pods that are still required for the deployment to have 100% available capacity. They may either be pods that are running but not yet available or pods that still have not been created."
   },
   {
    "j": "terminatingReplicas",
    "t": "*int32",
    "o": 1,
    "p": 9,
    "d": "Total number of terminating pods targeted by this deployment. Terminating pods have a non-null .metadata.deletionTimestamp and have not yet reached the Failed or Succeeded .status.phase.\n\nThis is a beta field and requires enabling DeploymentReplicaSetTerminatingReplicas feature (enabled by default)."
   },
   {
    "j": "conditions",
    "t": "[]@io.k8s.api.apps.v1.DeploymentCondition",
    "o": 1,
    "p": 6,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "Represents the latest available observations of a deployment's current state."
   },
   {
    "j": "collisionCount",
    "t": "*int32",
    "o": 1,
    "p": 8,
    "d": "Count of hash collisions for the Deployment. The Deployment controller uses this field as a collision avoidance mechanism when it needs to create the name for the newest ReplicaSet."
   }
  ]
 },
 "io.k8s.api.apps.v1.DeploymentStrategy": {
  "go": "v1.DeploymentStrategy",
  "d": "DeploymentStrategy describes how to replace existing pods with new ones.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.apps.v1.DeploymentStrategyType",
    "o": 1,
    "p": 1,
    "d": "Type of deployment. Can be \"Recreate\" or \"RollingUpdate\". Default is RollingUpdate."
   },
   {
    "j": "rollingUpdate",
    "t": "*@io.k8s.api.apps.v1.RollingUpdateDeployment",
    "o": 1,
    "p": 2,
    "d": "Rolling update config params. Present only if DeploymentStrategyType = RollingUpdate."
   }
  ]
 },
 "io.k8s.api.apps.v1.DeploymentStrategyType": {
  "go": "v1.DeploymentStrategyType",
  "u": "string"
 },
 "io.k8s.api.apps.v1.PersistentVolumeClaimRetentionPolicyType": {
  "go": "v1.PersistentVolumeClaimRetentionPolicyType",
  "u": "string"
 },
 "io.k8s.api.apps.v1.PodManagementPolicyType": {
  "go": "v1.PodManagementPolicyType",
  "u": "string"
 },
 "io.k8s.api.apps.v1.ReplicaSet": {
  "go": "v1.ReplicaSet",
  "d": "ReplicaSet ensures that a specified number of pod replicas are running at any given time.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "If the Labels of a ReplicaSet are empty, they are defaulted to be the same as the Pod(s) that the ReplicaSet manages. Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.apps.v1.ReplicaSetSpec",
    "o": 1,
    "p": 2,
    "req": 1,
    "d": "Spec defines the specification of the desired behavior of the ReplicaSet. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.apps.v1.ReplicaSetStatus",
    "o": 1,
    "p": 3,
    "d": "Status is the most recently observed status of the ReplicaSet. This data may be out of date by some window of time. Populated by the system. Read-only. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.apps.v1.ReplicaSetCondition": {
  "go": "v1.ReplicaSetCondition",
  "d": "ReplicaSetCondition describes the state of a replica set at a certain point.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.apps.v1.ReplicaSetConditionType",
    "p": 1,
    "d": "Type of replica set condition."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ConditionStatus",
    "p": 2,
    "d": "Status of the condition, one of True, False, Unknown."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 3,
    "d": "The last time the condition transitioned from one status to another."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "The reason for the condition's last transition."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "A human readable message indicating details about the transition."
   }
  ]
 },
 "io.k8s.api.apps.v1.ReplicaSetConditionType": {
  "go": "v1.ReplicaSetConditionType",
  "u": "string"
 },
 "io.k8s.api.apps.v1.ReplicaSetList": {
  "go": "v1.ReplicaSetList",
  "d": "ReplicaSetList is a collection of ReplicaSets.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.apps.v1.ReplicaSet",
    "p": 2,
    "req": 1,
    "d": "List of ReplicaSets. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset"
   }
  ]
 },
 "io.k8s.api.apps.v1.ReplicaSetSpec": {
  "go": "v1.ReplicaSetSpec",
  "d": "ReplicaSetSpec is the specification of a ReplicaSet.",
  "f": [
   {
    "j": "replicas",
    "t": "*int32",
    "o": 1,
    "p": 1,
    "d": "Replicas is the number of desired pods. This is a pointer to distinguish between explicit zero and unspecified. Defaults to 1. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset"
   },
   {
    "j": "minReadySeconds",
    "t": "int32",
    "o": 1,
    "p": 4,
    "d": "Minimum number of seconds for which a newly created pod should be ready without any of its container crashing, for it to be considered available. Defaults to 0 (pod will be considered available as soon as it is ready)"
   },
   {
    "j": "selector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "p": 2,
    "req": 1,
    "d": "Selector is a label query over pods that should match the replica count. Label keys and values that must match in order to be controlled by this replica set. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors"
   },
   {
    "j": "template",
    "t": "@io.k8s.api.core.v1.PodTemplateSpec",
    "o": 1,
    "p": 3,
    "d": "Template is the object that describes the pod that will be created if insufficient replicas are detected. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/#pod-template"
   }
  ]
 },
 "io.k8s.api.apps.v1.ReplicaSetStatus": {
  "go": "v1.ReplicaSetStatus",
  "d": "ReplicaSetStatus represents the current status of a ReplicaSet.",
  "f": [
   {
    "j": "replicas",
    "t": "int32",
    "p": 1,
    "req": 1,
    "d": "Replicas is the most recently observed number of non-terminating pods. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset"
   },
   {
    "j": "fullyLabeledReplicas",
    "t": "int32",
    "o": 1,
    "p": 2,
    "d": "The number of non-terminating pods that have labels matching the labels of the pod template of the replicaset."
   },
   {
    "j": "readyReplicas",
    "t": "int32",
    "o": 1,
    "p": 4,
    "d": "The number of non-terminating pods targeted by this ReplicaSet with a Ready Condition."
   },
   {
    "j": "availableReplicas",
    "t": "int32",
    "o": 1,
    "p": 5,
    "d": "The number of available non-terminating pods (ready for at least minReadySeconds) for this replica set."
   },
   {
    "j": "terminatingReplicas",
    "t": "*int32",
    "o": 1,
    "p": 7,
    "d": "The number of terminating pods for this replica set. Terminating pods have a non-null .metadata.deletionTimestamp and have not yet reached the Failed or Succeeded .status.phase.\n\nThis is a beta field and requires enabling DeploymentReplicaSetTerminatingReplicas feature (enabled by default)."
   },
   {
    "j": "observedGeneration",
    "t": "int64",
    "o": 1,
    "p": 3,
    "d": "ObservedGeneration reflects the generation of the most recently observed ReplicaSet."
   },
   {
    "j": "conditions",
    "t": "[]@io.k8s.api.apps.v1.ReplicaSetCondition",
    "o": 1,
    "p": 6,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "Represents the latest available observations of a replica set's current state."
   }
  ]
 },
 "io.k8s.api.apps.v1.RollingUpdateDaemonSet": {
  "go": "v1.RollingUpdateDaemonSet",
  "d": "Spec to control the desired behavior of daemon set rolling update.",
  "f": [
   {
    "j": "maxUnavailable",
    "t": "*@io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "o": 1,
    "p": 1,
    "d": "The maximum number of DaemonSet pods that can be unavailable during the update. Value can be an absolute number (ex: 5) or a percentage of total number of DaemonSet pods at the start of the update (ex: 10%). Absolute number is calculated from percentage by rounding up. This cannot be 0 if MaxSurge is 0 Default value is 1. Example: when this is set to 30%, at most 30% of the total number of nodes that should be running the daemon pod (i.e. status.desiredNumberScheduled) can have their pods stopped for an update at any given time. The update starts by stopping at most 30% of those DaemonSet pods and then brings up new DaemonSet pods in their place. Once the new pods are available, it then proceeds onto other DaemonSet pods, thus ensuring that at least 70% of original number of DaemonSet pods are available at all times during the update."
   },
   {
    "j": "maxSurge",
    "t": "*@io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "o": 1,
    "p": 2,
    "d": "The maximum number of nodes with an existing available DaemonSet pod that can have an updated DaemonSet pod during during an update. Value can be an absolute number (ex: 5) or a percentage of desired pods (ex: 10%). This can not be 0 if MaxUnavailable is 0. Absolute number is calculated from percentage by rounding up to a minimum of 1. Default value is 0. Example: when this is set to 30%, at most 30% of the total number of nodes that should be running the daemon pod (i.e. status.desiredNumberScheduled) can have their a new pod created before the old pod is marked as deleted. The update starts by launching new pods on 30% of nodes. Once an updated pod is available (Ready for at least minReadySeconds) the old DaemonSet pod on that node is marked deleted. If the old pod becomes unavailable for any reason (Ready transitions to false, is evicted, or is drained) an updated pod is immediately created on that node without considering surge limits. Allowing surge implies the possibility that the resources consumed by the daemonset on any given node can double if the readiness check fails, and so resource intensive daemonsets should take into account that they may cause evictions during disruption."
   }
  ]
 },
 "io.k8s.api.apps.v1.RollingUpdateDeployment": {
  "go": "v1.RollingUpdateDeployment",
  "d": "Spec to control the desired behavior of rolling update.",
  "f": [
   {
    "j": "maxUnavailable",
    "t": "*@io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "o": 1,
    "p": 1,
    "d": "The maximum number of pods that can be unavailable during the update. Value can be an absolute number (ex: 5) or a percentage of desired pods (ex: 10%). Absolute number is calculated from percentage by rounding down. This can not be 0 if MaxSurge is 0. Defaults to 25%. Example: when this is set to 30%, the old ReplicaSet can be scaled down to 70% of desired pods immediately when the rolling update starts. Once new pods are ready, old ReplicaSet can be scaled down further, followed by scaling up the new ReplicaSet, ensuring that the total number of pods available at all times during the update is at least 70% of desired pods."
   },
   {
    "j": "maxSurge",
    "t": "*@io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "o": 1,
    "p": 2,
    "d": "The maximum number of pods that can be scheduled above the desired number of pods. Value can be an absolute number (ex: 5) or a percentage of desired pods (ex: 10%). This can not be 0 if MaxUnavailable is 0. Absolute number is calculated from percentage by rounding up. Defaults to 25%. Example: when this is set to 30%, the new ReplicaSet can be scaled up immediately when the rolling update starts, such that the total number of old and new pods do not exceed 130% of desired pods. Once old pods have been killed, new ReplicaSet can be scaled up further, ensuring that total number of pods running at any time during the update is at most 130% of desired pods."
   }
  ]
 },
 "io.k8s.api.apps.v1.RollingUpdateStatefulSetStrategy": {
  "go": "v1.RollingUpdateStatefulSetStrategy",
  "d": "RollingUpdateStatefulSetStrategy is used to communicate parameter for RollingUpdateStatefulSetStrategyType.",
  "f": [
   {
    "j": "partition",
    "t": "*int32",
    "o": 1,
    "p": 1,
    "d": "Partition indicates the ordinal at which the StatefulSet should be partitioned for updates. During a rolling update, all pods from ordinal Replicas-1 to Partition are updated. All pods from ordinal Partition-1 to 0 remain untouched. This is helpful in being able to do a canary based deployment. The default value is 0."
   },
   {
    "j": "maxUnavailable",
    "t": "*@io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "o": 1,
    "p": 2,
    "d": "The maximum number of pods that can be unavailable during the update. Value can be an absolute number (ex: 5) or a percentage of desired pods (ex: 10%). Absolute number is calculated from percentage by rounding up. This can not be 0. Defaults to 1. This field is beta-level and is enabled by default. The field applies to all pods in the range 0 to Replicas-1. That means if there is any unavailable pod in the range 0 to Replicas-1, it will be counted towards MaxUnavailable. This setting might not be effective for the OrderedReady podManagementPolicy. That policy ensures pods are created and become ready one at a time."
   }
  ]
 },
 "io.k8s.api.apps.v1.StatefulSet": {
  "go": "v1.StatefulSet",
  "d": "StatefulSet represents a set of pods with consistent identities. Identities are defined as:\n  - Network: A single stable DNS and hostname.\n  - Storage: As many VolumeClaims as requested.\n\nThe StatefulSet guarantees that a given network identity will always map to the same storage identity.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.apps.v1.StatefulSetSpec",
    "o": 1,
    "p": 2,
    "req": 1,
    "d": "Spec defines the desired identities of pods in this set."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.apps.v1.StatefulSetStatus",
    "o": 1,
    "p": 3,
    "d": "Status is the current status of Pods in this StatefulSet. This data may be out of date by some window of time."
   }
  ]
 },
 "io.k8s.api.apps.v1.StatefulSetCondition": {
  "go": "v1.StatefulSetCondition",
  "d": "StatefulSetCondition describes the state of a statefulset at a certain point.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.apps.v1.StatefulSetConditionType",
    "p": 1,
    "d": "Type of statefulset condition."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ConditionStatus",
    "p": 2,
    "d": "Status of the condition, one of True, False, Unknown."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 3,
    "d": "Last time the condition transitioned from one status to another."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "The reason for the condition's last transition."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "A human readable message indicating details about the transition."
   }
  ]
 },
 "io.k8s.api.apps.v1.StatefulSetConditionType": {
  "go": "v1.StatefulSetConditionType",
  "u": "string"
 },
 "io.k8s.api.apps.v1.StatefulSetList": {
  "go": "v1.StatefulSetList",
  "d": "StatefulSetList is a collection of StatefulSets.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.apps.v1.StatefulSet",
    "p": 2,
    "req": 1,
    "d": "Items is the list of stateful sets."
   }
  ]
 },
 "io.k8s.api.apps.v1.StatefulSetOrdinals": {
  "go": "v1.StatefulSetOrdinals",
  "d": "StatefulSetOrdinals describes the policy used for replica ordinal assignment in this StatefulSet.",
  "f": [
   {
    "j": "start",
    "t": "int32",
    "p": 1,
    "d": "start is the number representing the first replica's index. It may be used to number replicas from an alternate index (eg: 1-indexed) over the default 0-indexed names, or to orchestrate progressive movement of replicas from one StatefulSet to another. If set, replica indices will be in the range:\n  [.spec.ordinals.start, .spec.ordinals.start + .spec.replicas).\nIf unset, defaults to 0. Replica indices will be in the range:\n  [0, .spec.replicas)."
   }
  ]
 },
 "io.k8s.api.apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy": {
  "go": "v1.StatefulSetPersistentVolumeClaimRetentionPolicy",
  "d": "StatefulSetPersistentVolumeClaimRetentionPolicy describes the policy used for PVCs created from the StatefulSet VolumeClaimTemplates.",
  "f": [
   {
    "j": "whenDeleted",
    "t": "@io.k8s.api.apps.v1.PersistentVolumeClaimRetentionPolicyType",
    "o": 1,
    "p": 1,
    "d": "WhenDeleted specifies what happens to PVCs created from StatefulSet VolumeClaimTemplates when the StatefulSet is deleted. The default policy of `Retain` causes PVCs to not be affected by StatefulSet deletion. The `Delete` policy causes those PVCs to be deleted."
   },
   {
    "j": "whenScaled",
    "t": "@io.k8s.api.apps.v1.PersistentVolumeClaimRetentionPolicyType",
    "o": 1,
    "p": 2,
    "d": "WhenScaled specifies what happens to PVCs created from StatefulSet VolumeClaimTemplates when the StatefulSet is scaled down. The default policy of `Retain` causes PVCs to not be affected by a scaledown. The `Delete` policy causes the associated PVCs for any excess pods above the replica count to be deleted."
   }
  ]
 },
 "io.k8s.api.apps.v1.StatefulSetSpec": {
  "go": "v1.StatefulSetSpec",
  "d": "A StatefulSetSpec is the specification of a StatefulSet.",
  "f": [
   {
    "j": "replicas",
    "t": "*int32",
    "o": 1,
    "p": 1,
    "d": "replicas is the desired number of replicas of the given Template. These are replicas in the sense that they are instantiations of the same Template, but individual replicas also have a consistent identity. If unspecified, defaults to 1."
   },
   {
    "j": "selector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "p": 2,
    "req": 1,
    "d": "selector is a label query over pods that should match the replica count. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors"
   },
   {
    "j": "template",
    "t": "@io.k8s.api.core.v1.PodTemplateSpec",
    "p": 3,
    "req": 1,
    "d": "template is the object that describes the pod that will be created if insufficient replicas are detected. Each pod stamped out by the StatefulSet will fulfill this Template, but have a unique identity from the rest of the StatefulSet. Each pod will be named with the format <statefulsetname>-<podindex>. For example, a pod in a StatefulSet named \"web\" with index number \"3\" would be named \"web-3\". The only allowed template.spec.restartPolicy value is \"Always\"."
   },
   {
    "j": "volumeClaimTemplates",
    "t": "[]@io.k8s.api.core.v1.PersistentVolumeClaim",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "volumeClaimTemplates is a list of claims that pods are allowed to reference. The StatefulSet controller is responsible for mapping network identities to claims in a way that maintains the identity of a pod. Every claim in this list must have at least one matching (by name) volumeMount in one container in the template. A claim in this list takes precedence over any volumes in the template, with the same name."
   },
   {
    "j": "serviceName",
    "t": "string",
    "p": 5,
    "d": "serviceName is the name of the service that governs this StatefulSet. This service must exist before the StatefulSet, and is responsible for the network identity of the set. Pods get DNS/hostnames that follow the pattern: pod-specific-string.serviceName.default.svc.cluster.local where \"pod-specific-string\" is managed by the StatefulSet controller."
   },
   {
    "j": "podManagementPolicy",
    "t": "@io.k8s.api.apps.v1.PodManagementPolicyType",
    "o": 1,
    "p": 6,
    "d": "podManagementPolicy controls how pods are created during initial scale up, when replacing pods on nodes, or when scaling down. The default policy is `OrderedReady`, where pods are created in increasing order (pod-0, then pod-1, etc) and the controller will wait until each pod is ready before continuing. When scaling down, the pods are removed in the opposite order. The alternative policy is `Parallel` which will create pods in parallel to match the desired scale without waiting, and on scale down will delete all pods at once."
   },
   {
    "j": "updateStrategy",
    "t": "@io.k8s.api.apps.v1.StatefulSetUpdateStrategy",
    "o": 1,
    "p": 7,
    "d": "updateStrategy indicates the StatefulSetUpdateStrategy that will be employed to update Pods in the StatefulSet when a revision is made to Template."
   },
   {
    "j": "revisionHistoryLimit",
    "t": "*int32",
    "o": 1,
    "p": 8,
    "d": "revisionHistoryLimit is the maximum number of revisions that will be maintained in the StatefulSet's revision history. The revision history consists of all revisions not represented by a currently applied StatefulSetSpec version. The default value is 10."
   },
   {
    "j": "minReadySeconds",
    "t": "int32",
    "o": 1,
    "p": 9,
    "d": "Minimum number of seconds for which a newly created pod should be ready without any of its container crashing for it to be considered available. Defaults to 0 (pod will be considered available as soon as it is ready)"
   },
   {
    "j": "persistentVolumeClaimRetentionPolicy",
    "t": "*@io.k8s.api.apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy",
    "o": 1,
    "p": 10,
    "d": "persistentVolumeClaimRetentionPolicy describes the lifecycle of persistent volume claims created from volumeClaimTemplates. By default, all persistent volume claims are created as needed and retained until manually deleted. This policy allows the lifecycle to be altered, for example by deleting persistent volume claims when their stateful set is deleted, or when their pod is scaled down."
   },
   {
    "j": "ordinals",
    "t": "*@io.k8s.api.apps.v1.StatefulSetOrdinals",
    "o": 1,
    "p": 11,
    "d": "ordinals controls the numbering of replica indices in a StatefulSet. The default ordinals behavior assigns a \"0\" index to the first replica and increments the index by one for each additional replica requested."
   }
  ]
 },
 "io.k8s.api.apps.v1.StatefulSetStatus": {
  "go": "v1.StatefulSetStatus",
  "d": "StatefulSetStatus represents the current state of a StatefulSet.",
  "f": [
   {
    "j": "observedGeneration",
    "t": "int64",
    "o": 1,
    "p": 1,
    "d": "observedGeneration is the most recent generation observed for this StatefulSet. It corresponds to the StatefulSet's generation, which is updated on mutation by the API Server."
   },
   {
    "j": "replicas",
    "t": "int32",
    "p": 2,
    "req": 1,
    "d": "replicas is the number of Pods created by the StatefulSet controller."
   },
   {
    "j": "readyReplicas",
    "t": "int32",
    "o": 1,
    "p": 3,
    "d": "readyReplicas is the number of pods created for this StatefulSet with a Ready Condition."
   },
   {
    "j": "currentReplicas",
    "t": "int32",
    "o": 1,
    "p": 4,
    "d": "currentReplicas is the number of Pods created by the StatefulSet controller from the StatefulSet version indicated by currentRevision."
   },
   {
    "j": "updatedReplicas",
    "t": "int32",
    "o": 1,
    "p": 5,
    "d": "updatedReplicas is the number of Pods created by the StatefulSet controller from the StatefulSet version indicated by updateRevision."
   },
   {
    "j": "currentRevision",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "currentRevision, if not empty, indicates the version of the StatefulSet used to generate Pods in the sequence [0,currentReplicas)."
   },
   {
    "j": "updateRevision",
    "t": "string",
    "o": 1,
    "p": 7,
    "d": "updateRevision, if not empty, indicates the version of the StatefulSet used to generate Pods in the sequence [replicas-updatedReplicas,replicas)"
   },
   {
    "j": "collisionCount",
    "t": "*int32",
    "o": 1,
    "p": 9,
    "d": "collisionCount is the count of hash collisions for the StatefulSet. The StatefulSet controller uses this field as a collision avoidance mechanism when it needs to create the name for the newest ControllerRevision."
   },
   {
    "j": "conditions",
    "t": "[]@io.k8s.api.apps.v1.StatefulSetCondition",
    "o": 1,
    "p": 10,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "Represents the latest available observations of a statefulset's current state."
   },
   {
    "j": "availableReplicas",
    "t": "int32",
    "p": 11,
    "d": "Total number of available pods (ready for at least minReadySeconds) targeted by this statefulset."
   }
  ]
 },
 "io.k8s.api.apps.v1.StatefulSetUpdateStrategy": {
  "go": "v1.StatefulSetUpdateStrategy",
  "d": "StatefulSetUpdateStrategy indicates the strategy that the StatefulSet controller will use to perform updates. It includes any additional parameters necessary to perform the update for the indicated strategy.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.apps.v1.StatefulSetUpdateStrategyType",
    "o": 1,
    "p": 1,
    "d": "Type indicates the type of the StatefulSetUpdateStrategy. Default is RollingUpdate."
   },
   {
    "j": "rollingUpdate",
    "t": "*@io.k8s.api.apps.v1.RollingUpdateStatefulSetStrategy",
    "o": 1,
    "p": 2,
    "d": "RollingUpdate is used to communicate parameters when Type is RollingUpdateStatefulSetStrategyType."
   }
  ]
 },
 "io.k8s.api.apps.v1.StatefulSetUpdateStrategyType": {
  "go": "v1.StatefulSetUpdateStrategyType",
  "u": "string"
 },
 "io.k8s.api.authentication.v1.AttestationValue": {
  "go": "v1.AttestationValue",
  "u": "[]string"
 },
 "io.k8s.api.authentication.v1.BoundObjectReference": {
  "go": "v1.BoundObjectReference",
  "d": "BoundObjectReference is a reference to an object that a token is bound to.",
  "f": [
   {
    "j": "kind",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "kind of the referent. Valid kinds are 'Pod', 'Secret', 'Node', 'ValidatingWebhookConfiguration', and 'MutatingWebhookConfiguration'."
   },
   {
    "j": "apiVersion",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "apiVersion is API version of the referent."
   },
   {
    "j": "name",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "name of the referent."
   },
   {
    "j": "uid",
    "t": "@io.k8s.apimachinery.pkg.types.UID",
    "o": 1,
    "p": 4,
    "d": "uid of the referent."
   }
  ]
 },
 "io.k8s.api.authentication.v1.ExtraValue": {
  "go": "v1.ExtraValue",
  "u": "[]string"
 },
 "io.k8s.api.authentication.v1.SelfSubjectReview": {
  "go": "v1.SelfSubjectReview",
  "d": "SelfSubjectReview contains the user information that the kube-apiserver has about the user making this request. When using impersonation, users will receive the user info of the user being impersonated.  If impersonation or request header authentication is used, any extra keys will have their case ignored and returned as lowercase.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.authentication.v1.SelfSubjectReviewStatus",
    "o": 1,
    "p": 2,
    "d": "status is filled in by the server with the user attributes."
   }
  ]
 },
 "io.k8s.api.authentication.v1.SelfSubjectReviewStatus": {
  "go": "v1.SelfSubjectReviewStatus",
  "d": "SelfSubjectReviewStatus is filled by the kube-apiserver and sent back to a user.",
  "f": [
   {
    "j": "userInfo",
    "t": "@io.k8s.api.authentication.v1.UserInfo",
    "o": 1,
    "p": 1,
    "d": "userInfo is a set of attributes belonging to the user making this request."
   }
  ]
 },
 "io.k8s.api.authentication.v1.TokenRequest": {
  "go": "v1.TokenRequest",
  "d": "TokenRequest requests a token for a given service account.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.authentication.v1.TokenRequestSpec",
    "p": 2,
    "d": "spec holds information about the request being evaluated"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.authentication.v1.TokenRequestStatus",
    "o": 1,
    "p": 3,
    "d": "status is filled in by the server and indicates whether the token can be authenticated."
   }
  ]
 },
 "io.k8s.api.authentication.v1.TokenRequestSpec": {
  "go": "v1.TokenRequestSpec",
  "d": "TokenRequestSpec contains client provided parameters of a token request.",
  "f": [
   {
    "j": "audiences",
    "t": "[]string",
    "p": 1,
    "lt": "atomic",
    "d": "audiences are the intendend audiences of the token. A recipient of a token must identify themself with an identifier in the list of audiences of the token, and otherwise should reject the token. A token issued for multiple audiences may be used to authenticate against any of the audiences listed but implies a high degree of trust between the target audiences."
   },
   {
    "j": "expirationSeconds",
    "t": "*int64",
    "p": 4,
    "d": "expirationSeconds is the requested duration of validity of the request. The token issuer may return a token with a different validity duration so a client needs to check the 'expiration' field in a response."
   },
   {
    "j": "boundObjectRef",
    "t": "*@io.k8s.api.authentication.v1.BoundObjectReference",
    "p": 3,
    "d": "boundObjectRef is a reference to an object that the token will be bound to. The token will only be valid for as long as the bound object exists. NOTE: The API server's TokenReview endpoint will validate the BoundObjectRef, but other audiences may not. Keep ExpirationSeconds small if you want prompt revocation."
   },
   {
    "j": "attestations",
    "t": "map[string]@io.k8s.api.authentication.v1.AttestationValue",
    "o": 1,
    "p": 5,
    "d": "attestations is a map of well-known keys to string-slice values. The values for each key have a specific semantic meaning, which is documented on the key definition. Requesters of tokens may ask the Kubernetes API Server to attest to certain claims. The API Server may perform authorization checks depending on the key of this map."
   }
  ]
 },
 "io.k8s.api.authentication.v1.TokenRequestStatus": {
  "go": "v1.TokenRequestStatus",
  "d": "TokenRequestStatus is the result of a token request.",
  "f": [
   {
    "j": "token",
    "t": "string",
    "p": 1,
    "d": "token is the opaque bearer token."
   },
   {
    "j": "expirationTimestamp",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "p": 2,
    "d": "expirationTimestamp is the time of expiration of the returned token."
   }
  ]
 },
 "io.k8s.api.authentication.v1.TokenReview": {
  "go": "v1.TokenReview",
  "d": "TokenReview attempts to authenticate a token to a known user. Note: TokenReview requests may be cached by the webhook token authenticator plugin in the kube-apiserver.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.authentication.v1.TokenReviewSpec",
    "p": 2,
    "req": 1,
    "d": "spec holds information about the request being evaluated"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.authentication.v1.TokenReviewStatus",
    "o": 1,
    "p": 3,
    "d": "status is filled in by the server and indicates whether the request can be authenticated."
   }
  ]
 },
 "io.k8s.api.authentication.v1.TokenReviewSpec": {
  "go": "v1.TokenReviewSpec",
  "d": "TokenReviewSpec is a description of the token authentication request.",
  "f": [
   {
    "j": "token",
    "t": "string",
    "o": 1,
    "p": 1,
    "req": 1,
    "d": "token is the opaque bearer token."
   },
   {
    "j": "audiences",
    "t": "[]string",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "audiences is a list of the identifiers that the resource server presented with the token identifies as. Audience-aware token authenticators will verify that the token was intended for at least one of the audiences in this list. If no audiences are provided, the audience will default to the audience of the Kubernetes apiserver."
   }
  ]
 },
 "io.k8s.api.authentication.v1.TokenReviewStatus": {
  "go": "v1.TokenReviewStatus",
  "d": "TokenReviewStatus is the result of the token authentication request.",
  "f": [
   {
    "j": "authenticated",
    "t": "bool",
    "o": 1,
    "p": 1,
    "d": "authenticated indicates that the token was associated with a known user."
   },
   {
    "j": "user",
    "t": "@io.k8s.api.authentication.v1.UserInfo",
    "o": 1,
    "p": 2,
    "d": "user is the UserInfo associated with the provided token."
   },
   {
    "j": "audiences",
    "t": "[]string",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "audiences are audience identifiers chosen by the authenticator that are compatible with both the TokenReview and token. An identifier is any identifier in the intersection of the TokenReviewSpec audiences and the token's audiences. A client of the TokenReview API that sets the spec.audiences field should validate that a compatible audience identifier is returned in the status.audiences field to ensure that the TokenReview server is audience aware. If a TokenReview returns an empty status.audience field where status.authenticated is \"true\", the token is valid against the audience of the Kubernetes API server."
   },
   {
    "j": "error",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "error indicates that the token couldn't be checked"
   }
  ]
 },
 "io.k8s.api.authentication.v1.UserInfo": {
  "go": "v1.UserInfo",
  "d": "UserInfo holds the information about the user needed to implement the user.Info interface.",
  "f": [
   {
    "j": "username",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "username is the name that uniquely identifies this user among all active users."
   },
   {
    "j": "uid",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "uid is a unique value that identifies this user across time. If this user is deleted and another user by the same name is added, they will have different UIDs."
   },
   {
    "j": "groups",
    "t": "[]string",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "groups is the names of groups this user is a part of."
   },
   {
    "j": "extra",
    "t": "map[string]@io.k8s.api.authentication.v1.ExtraValue",
    "o": 1,
    "p": 4,
    "d": "extra is any additional information provided by the authenticator."
   }
  ]
 },
 "io.k8s.api.authorization.v1.ExtraValue": {
  "go": "v1.ExtraValue",
  "u": "[]string"
 },
 "io.k8s.api.authorization.v1.FieldSelectorAttributes": {
  "go": "v1.FieldSelectorAttributes",
  "d": "FieldSelectorAttributes indicates a field limited access. Webhook authors are encouraged to * ensure rawSelector and requirements are not both set * consider the requirements field if set * not try to parse or consider the rawSelector field if set. This is to avoid another CVE-2022-2880 (i.e. getting different systems to agree on how exactly to parse a query is not something we want), see https://www.oxeye.io/resources/golang-parameter-smuggling-attack for more details. For the *SubjectAccessReview endpoints of the kube-apiserver: * If rawSelector is empty and requirements are empty, the request is not limited. * If rawSelector is present and requirements are empty, the rawSelector will be parsed and limited if the parsing succeeds. * If rawSelector is empty and requirements are present, the requirements should be honored * If rawSelector is present and requirements are present, the request is invalid.",
  "f": [
   {
    "j": "rawSelector",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "rawSelector is the serialization of a field selector that would be included in a query parameter. Webhook implementations are encouraged to ignore rawSelector. The kube-apiserver's *SubjectAccessReview will parse the rawSelector as long as the requirements are not present."
   },
   {
    "j": "requirements",
    "t": "[]@io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "requirements is the parsed interpretation of a field selector. All requirements must be met for a resource instance to match the selector. Webhook implementations should handle requirements, but how to handle them is up to the webhook. Since requirements can only limit the request, it is safe to authorize as unlimited request if the requirements are not understood."
   }
  ]
 },
 "io.k8s.api.authorization.v1.LabelSelectorAttributes": {
  "go": "v1.LabelSelectorAttributes",
  "d": "LabelSelectorAttributes indicates a label limited access. Webhook authors are encouraged to * ensure rawSelector and requirements are not both set * consider the requirements field if set * not try to parse or consider the rawSelector field if set. This is to avoid another CVE-2022-2880 (i.e. getting different systems to agree on how exactly to parse a query is not something we want), see https://www.oxeye.io/resources/golang-parameter-smuggling-attack for more details. For the *SubjectAccessReview endpoints of the kube-apiserver: * If rawSelector is empty and requirements are empty, the request is not limited. * If rawSelector is present and requirements are empty, the rawSelector will be parsed and limited if the parsing succeeds. * If rawSelector is empty and requirements are present, the requirements should be honored * If rawSelector is present and requirements are present, the request is invalid.",
  "f": [
   {
    "j": "rawSelector",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "rawSelector is the serialization of a field selector that would be included in a query parameter. Webhook implementations are encouraged to ignore rawSelector. The kube-apiserver's *SubjectAccessReview will parse the rawSelector as long as the requirements are not present."
   },
   {
    "j": "requirements",
    "t": "[]@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "requirements is the parsed interpretation of a label selector. All requirements must be met for a resource instance to match the selector. Webhook implementations should handle requirements, but how to handle them is up to the webhook. Since requirements can only limit the request, it is safe to authorize as unlimited request if the requirements are not understood."
   }
  ]
 },
 "io.k8s.api.authorization.v1.LocalSubjectAccessReview": {
  "go": "v1.LocalSubjectAccessReview",
  "d": "LocalSubjectAccessReview checks whether or not a user or group can perform an action in a given namespace. Having a namespace scoped resource makes it much easier to grant namespace scoped policy that includes permissions checking.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.authorization.v1.SubjectAccessReviewSpec",
    "p": 2,
    "req": 1,
    "d": "spec holds information about the request being evaluated.  spec.namespace must be equal to the namespace you made the request against.  If empty, it is defaulted."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.authorization.v1.SubjectAccessReviewStatus",
    "o": 1,
    "p": 3,
    "d": "status is filled in by the server and indicates whether the request is allowed or not"
   }
  ]
 },
 "io.k8s.api.authorization.v1.NonResourceAttributes": {
  "go": "v1.NonResourceAttributes",
  "d": "NonResourceAttributes includes the authorization attributes available for non-resource requests to the Authorizer interface",
  "f": [
   {
    "j": "path",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "path is the URL path of the request"
   },
   {
    "j": "verb",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "verb is the standard HTTP verb"
   }
  ]
 },
 "io.k8s.api.authorization.v1.NonResourceRule": {
  "go": "v1.NonResourceRule",
  "d": "NonResourceRule holds information that describes a rule for the non-resource",
  "f": [
   {
    "j": "verbs",
    "t": "[]string",
    "p": 1,
    "lt": "atomic",
    "req": 1,
    "d": "verbs is a list of kubernetes non-resource API verbs, like: get, post, put, delete, patch, head, options.  \"*\" means all."
   },
   {
    "j": "nonResourceURLs",
    "t": "[]string",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "nonResourceURLs is a set of partial urls that a user should have access to.  *s are allowed, but only as the full, final step in the path.  \"*\" means all."
   }
  ]
 },
 "io.k8s.api.authorization.v1.ResourceAttributes": {
  "go": "v1.ResourceAttributes",
  "d": "ResourceAttributes includes the authorization attributes available for resource requests to the Authorizer interface",
  "f": [
   {
    "j": "namespace",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "namespace is the namespace of the action being requested.  Currently, there is no distinction between no namespace and all namespaces \"\" (empty) is defaulted for LocalSubjectAccessReviews \"\" (empty) is empty for cluster-scoped resources \"\" (empty) means \"all\" for namespace scoped resources from a SubjectAccessReview or SelfSubjectAccessReview"
   },
   {
    "j": "verb",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "verb is a kubernetes resource API verb, like: get, list, watch, create, update, delete, proxy.  \"*\" means all."
   },
   {
    "j": "group",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "group is the API Group of the Resource.  \"*\" means all."
   },
   {
    "j": "version",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "version is the API Version of the Resource.  \"*\" means all."
   },
   {
    "j": "resource",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "resource is one of the existing resource types.  \"*\" means all."
   },
   {
    "j": "subresource",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "subresource is one of the existing resource types.  \"\" means none."
   },
   {
    "j": "name",
    "t": "string",
    "o": 1,
    "p": 7,
    "d": "name is the name of the resource being requested for a \"get\" or deleted for a \"delete\". \"\" (empty) means all."
   },
   {
    "j": "fieldSelector",
    "t": "*@io.k8s.api.authorization.v1.FieldSelectorAttributes",
    "o": 1,
    "p": 8,
    "d": "fieldSelector describes the limitation on access based on field.  It can only limit access, not broaden it."
   },
   {
    "j": "labelSelector",
    "t": "*@io.k8s.api.authorization.v1.LabelSelectorAttributes",
    "o": 1,
    "p": 9,
    "d": "labelSelector describes the limitation on access based on labels.  It can only limit access, not broaden it."
   }
  ]
 },
 "io.k8s.api.authorization.v1.ResourceRule": {
  "go": "v1.ResourceRule",
  "d": "ResourceRule is the list of actions the subject is allowed to perform on resources. The list ordering isn't significant, may contain duplicates, and possibly be incomplete.",
  "f": [
   {
    "j": "verbs",
    "t": "[]string",
    "p": 1,
    "lt": "atomic",
    "req": 1,
    "d": "verbs is a list of kubernetes resource API verbs, like: get, list, watch, create, update, delete, proxy.  \"*\" means all."
   },
   {
    "j": "apiGroups",
    "t": "[]string",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "apiGroups is the name of the APIGroup that contains the resources.  If multiple API groups are specified, any action requested against one of the enumerated resources in any API group will be allowed.  \"*\" means all."
   },
   {
    "j": "resources",
    "t": "[]string",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "resources is a list of resources this rule applies to.  \"*\" means all in the specified apiGroups.\n \"*/foo\" represents the subresource 'foo' for all resources in the specified apiGroups."
   },
   {
    "j": "resourceNames",
    "t": "[]string",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "resourceNames is an optional white list of names that the rule applies to.  An empty set means that everything is allowed.  \"*\" means all."
   }
  ]
 },
 "io.k8s.api.authorization.v1.SelfSubjectAccessReview": {
  "go": "v1.SelfSubjectAccessReview",
  "d": "SelfSubjectAccessReview checks whether or the current user can perform an action.  Not filling in a spec.namespace means \"in all namespaces\".  Self is a special case, because users should always be able to check whether they can perform an action",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.authorization.v1.SelfSubjectAccessReviewSpec",
    "p": 2,
    "req": 1,
    "d": "spec holds information about the request being evaluated.  user and groups must be empty"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.authorization.v1.SubjectAccessReviewStatus",
    "o": 1,
    "p": 3,
    "d": "status is filled in by the server and indicates whether the request is allowed or not"
   }
  ]
 },
 "io.k8s.api.authorization.v1.SelfSubjectAccessReviewSpec": {
  "go": "v1.SelfSubjectAccessReviewSpec",
  "d": "SelfSubjectAccessReviewSpec is a description of the access request.  Exactly one of resourceAttributes and nonResourceAttributes must be set",
  "f": [
   {
    "j": "resourceAttributes",
    "t": "*@io.k8s.api.authorization.v1.ResourceAttributes",
    "o": 1,
    "p": 1,
    "d": "resourceAttributes describes information for a resource access request"
   },
   {
    "j": "nonResourceAttributes",
    "t": "*@io.k8s.api.authorization.v1.NonResourceAttributes",
    "o": 1,
    "p": 2,
    "d": "nonResourceAttributes describes information for a non-resource access request"
   }
  ]
 },
 "io.k8s.api.authorization.v1.SelfSubjectRulesReview": {
  "go": "v1.SelfSubjectRulesReview",
  "d": "SelfSubjectRulesReview enumerates the set of actions the current user can perform within a namespace. The returned list of actions may be incomplete depending on the server's authorization mode, and any errors experienced during the evaluation. SelfSubjectRulesReview should be used by UIs to show/hide actions, or to quickly let an end user reason about their permissions. It should NOT Be used by external systems to drive authorization decisions as this raises confused deputy, cache lifetime/revocation, and correctness concerns. SubjectAccessReview, and LocalAccessReview are the correct way to defer authorization decisions to the API server.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.authorization.v1.SelfSubjectRulesReviewSpec",
    "p": 2,
    "req": 1,
    "d": "spec holds information about the request being evaluated."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.authorization.v1.SubjectRulesReviewStatus",
    "o": 1,
    "p": 3,
    "d": "status is filled in by the server and indicates the set of actions a user can perform."
   }
  ]
 },
 "io.k8s.api.authorization.v1.SelfSubjectRulesReviewSpec": {
  "go": "v1.SelfSubjectRulesReviewSpec",
  "d": "SelfSubjectRulesReviewSpec defines the specification for SelfSubjectRulesReview.",
  "f": [
   {
    "j": "namespace",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "namespace to evaluate rules for. Required."
   }
  ]
 },
 "io.k8s.api.authorization.v1.SubjectAccessReview": {
  "go": "v1.SubjectAccessReview",
  "d": "SubjectAccessReview checks whether or not a user or group can perform an action.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.authorization.v1.SubjectAccessReviewSpec",
    "p": 2,
    "req": 1,
    "d": "spec holds information about the request being evaluated"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.authorization.v1.SubjectAccessReviewStatus",
    "o": 1,
    "p": 3,
    "d": "status is filled in by the server and indicates whether the request is allowed or not"
   }
  ]
 },
 "io.k8s.api.authorization.v1.SubjectAccessReviewSpec": {
  "go": "v1.SubjectAccessReviewSpec",
  "d": "SubjectAccessReviewSpec is a description of the access request.  Exactly one of resourceAttributes and nonResourceAttributes must be set",
  "f": [
   {
    "j": "resourceAttributes",
    "t": "*@io.k8s.api.authorization.v1.ResourceAttributes",
    "o": 1,
    "p": 1,
    "d": "resourceAttributes describes information for a resource access request"
   },
   {
    "j": "nonResourceAttributes",
    "t": "*@io.k8s.api.authorization.v1.NonResourceAttributes",
    "o": 1,
    "p": 2,
    "d": "nonResourceAttributes describes information for a non-resource access request"
   },
   {
    "j": "user",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "user is the user you're testing for. If you specify \"User\" but not \"Groups\", then is it interpreted as \"What if User were not a member of any groups"
   },
   {
    "j": "groups",
    "t": "[]string",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "groups is the groups you're testing for."
   },
   {
    "j": "extra",
    "t": "map[string]@io.k8s.api.authorization.v1.ExtraValue",
    "o": 1,
    "p": 5,
    "d": "extra corresponds to the user.Info.GetExtra() method from the authenticator.  Since that is input to the authorizer it needs a reflection here."
   },
   {
    "j": "uid",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "uid information about the requesting user."
   }
  ]
 },
 "io.k8s.api.authorization.v1.SubjectAccessReviewStatus": {
  "go": "v1.SubjectAccessReviewStatus",
  "d": "SubjectAccessReviewStatus",
  "f": [
   {
    "j": "allowed",
    "t": "bool",
    "p": 1,
    "req": 1,
    "d": "allowed is required. True if the action would be allowed, false otherwise."
   },
   {
    "j": "denied",
    "t": "bool",
    "o": 1,
    "p": 4,
    "d": "denied is optional. True if the action would be denied, otherwise false. If both allowed is false and denied is false, then the authorizer has no opinion on whether to authorize the action. Denied may not be true if Allowed is true."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "reason is optional.  It indicates why a request was allowed or denied."
   },
   {
    "j": "evaluationError",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "evaluationError is an indication that some error occurred during the authorization check. It is entirely possible to get an error and be able to continue determine authorization status in spite of it. For instance, RBAC can be missing a role, but enough roles are still present and bound to reason about the request."
   }
  ]
 },
 "io.k8s.api.authorization.v1.SubjectRulesReviewStatus": {
  "go": "v1.SubjectRulesReviewStatus",
  "d": "SubjectRulesReviewStatus contains the result of a rules check. This check can be incomplete depending on the set of authorizers the server is configured with and any errors experienced during evaluation. Because authorization rules are additive, if a rule appears in a list it's safe to assume the subject has that permission, even if that list is incomplete.",
  "f": [
   {
    "j": "resourceRules",
    "t": "[]@io.k8s.api.authorization.v1.ResourceRule",
    "p": 1,
    "lt": "atomic",
    "req": 1,
    "d": "resourceRules is the list of actions the subject is allowed to perform on resources. The list ordering isn't significant, may contain duplicates, and possibly be incomplete."
   },
   {
    "j": "nonResourceRules",
    "t": "[]@io.k8s.api.authorization.v1.NonResourceRule",
    "p": 2,
    "lt": "atomic",
    "req": 1,
    "d": "nonResourceRules is the list of actions the subject is allowed to perform on non-resources. The list ordering isn't significant, may contain duplicates, and possibly be incomplete."
   },
   {
    "j": "incomplete",
    "t": "bool",
    "p": 3,
    "req": 1,
    "d": "incomplete is true when the rules returned by this call are incomplete. This is most commonly encountered when an authorizer, such as an external authorizer, doesn't support rules evaluation."
   },
   {
    "j": "evaluationError",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "evaluationError can appear in combination with Rules. It indicates an error occurred during rule evaluation, such as an authorizer that doesn't support rule evaluation, and that ResourceRules and/or NonResourceRules may be incomplete."
   }
  ]
 },
 "io.k8s.api.autoscaling.v1.CrossVersionObjectReference": {
  "go": "v1.CrossVersionObjectReference",
  "d": "CrossVersionObjectReference contains enough information to let you identify the referred resource.",
  "f": [
   {
    "j": "kind",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "kind is the kind of the referent; More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "name",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "name is the name of the referent; More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names"
   },
   {
    "j": "apiVersion",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "apiVersion is the API version of the referent"
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler": {
  "go": "v1.HorizontalPodAutoscaler",
  "d": "configuration of a horizontal pod autoscaler.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerSpec",
    "o": 1,
    "p": 2,
    "req": 1,
    "d": "spec defines the behaviour of autoscaler. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerStatus",
    "o": 1,
    "p": 3,
    "d": "status is the current information about the autoscaler."
   }
  ]
 },
 "io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerList": {
  "go": "v1.HorizontalPodAutoscalerList",
  "d": "list of horizontal pod autoscaler objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata."
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler",
    "p": 2,
    "req": 1,
    "d": "items is the list of horizontal pod autoscaler objects."
   }
  ]
 },
 "io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerSpec": {
  "go": "v1.HorizontalPodAutoscalerSpec",
  "d": "specification of a horizontal pod autoscaler.",
  "f": [
   {
    "j": "scaleTargetRef",
    "t": "@io.k8s.api.autoscaling.v1.CrossVersionObjectReference",
    "p": 1,
    "req": 1,
    "d": "scaleTargetRef is the reference to scaled resource; horizontal pod autoscaler will learn the current resource consumption and will set the desired number of pods by using its Scale subresource."
   },
   {
    "j": "minReplicas",
    "t": "*int32",
    "o": 1,
    "p": 2,
    "d": "minReplicas is the lower limit for the number of replicas to which the autoscaler can scale down.  It defaults to 1 pod.  minReplicas is allowed to be 0 if the alpha feature gate HPAScaleToZero is enabled and at least one Object or External metric is configured.  Scaling is active as long as at least one metric value is available."
   },
   {
    "j": "maxReplicas",
    "t": "int32",
    "p": 3,
    "req": 1,
    "d": "maxReplicas is the upper limit for the number of pods that can be set by the autoscaler; cannot be smaller than MinReplicas."
   },
   {
    "j": "targetCPUUtilizationPercentage",
    "t": "*int32",
    "o": 1,
    "p": 4,
    "d": "targetCPUUtilizationPercentage is the target average CPU utilization (represented as a percentage of requested CPU) over all the pods; if not specified the default autoscaling policy will be used."
   }
  ]
 },
 "io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerStatus": {
  "go": "v1.HorizontalPodAutoscalerStatus",
  "d": "current status of a horizontal pod autoscaler",
  "f": [
   {
    "j": "observedGeneration",
    "t": "*int64",
    "o": 1,
    "p": 1,
    "d": "observedGeneration is the most recent generation observed by this autoscaler."
   },
   {
    "j": "lastScaleTime",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 2,
    "d": "lastScaleTime is the last time the HorizontalPodAutoscaler scaled the number of pods; used by the autoscaler to control how often the number of pods is changed."
   },
   {
    "j": "currentReplicas",
    "t": "int32",
    "p": 3,
    "req": 1,
    "d": "currentReplicas is the current number of replicas of pods managed by this autoscaler."
   },
   {
    "j": "desiredReplicas",
    "t": "int32",
    "p": 4,
    "req": 1,
    "d": "desiredReplicas is the  desired number of replicas of pods managed by this autoscaler."
   },
   {
    "j": "currentCPUUtilizationPercentage",
    "t": "*int32",
    "o": 1,
    "p": 5,
    "d": "currentCPUUtilizationPercentage is the current average CPU utilization over all pods, represented as a percentage of requested CPU, e.g. 70 means that an average pod is using now 70% of its requested CPU."
   }
  ]
 },
 "io.k8s.api.autoscaling.v1.Scale": {
  "go": "v1.Scale",
  "d": "Scale represents a scaling request for a resource.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata; More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata."
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.autoscaling.v1.ScaleSpec",
    "o": 1,
    "p": 2,
    "d": "spec defines the behavior of the scale. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.autoscaling.v1.ScaleStatus",
    "o": 1,
    "p": 3,
    "d": "status is the current status of the scale. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status. Read-only."
   }
  ]
 },
 "io.k8s.api.autoscaling.v1.ScaleSpec": {
  "go": "v1.ScaleSpec",
  "d": "ScaleSpec describes the attributes of a scale subresource.",
  "f": [
   {
    "j": "replicas",
    "t": "int32",
    "o": 1,
    "p": 1,
    "def": "0",
    "d": "replicas is the desired number of instances for the scaled object."
   }
  ]
 },
 "io.k8s.api.autoscaling.v1.ScaleStatus": {
  "go": "v1.ScaleStatus",
  "d": "ScaleStatus represents the current status of a scale subresource.",
  "f": [
   {
    "j": "replicas",
    "t": "int32",
    "p": 1,
    "req": 1,
    "d": "replicas is the actual number of observed instances of the scaled object."
   },
   {
    "j": "selector",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "selector is the label query over pods that should match the replicas count. This is same as the label selector but in the string format to avoid introspection by clients. The string will be in the same format as the query-param syntax. More info about label selectors: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/"
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.ContainerResourceMetricSource": {
  "go": "v2.ContainerResourceMetricSource",
  "d": "ContainerResourceMetricSource indicates how to scale on a resource metric known to Kubernetes, as specified in requests and limits, describing each pod in the current scale target (e.g. CPU or memory).  The values will be averaged together before being compared to the target.  Such metrics are built in to Kubernetes, and have special scaling options on top of those available to normal per-pod metrics using the \"pods\" source.  Only one \"target\" type should be set.",
  "f": [
   {
    "j": "name",
    "t": "@io.k8s.api.core.v1.ResourceName",
    "p": 1,
    "req": 1,
    "d": "name is the name of the resource in question."
   },
   {
    "j": "target",
    "t": "@io.k8s.api.autoscaling.v2.MetricTarget",
    "p": 2,
    "req": 1,
    "d": "target specifies the target value for the given metric"
   },
   {
    "j": "container",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "container is the name of the container in the pods of the scaling target"
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.ContainerResourceMetricStatus": {
  "go": "v2.ContainerResourceMetricStatus",
  "d": "ContainerResourceMetricStatus indicates the current value of a resource metric known to Kubernetes, as specified in requests and limits, describing a single container in each pod in the current scale target (e.g. CPU or memory).  Such metrics are built in to Kubernetes, and have special scaling options on top of those available to normal per-pod metrics using the \"pods\" source.",
  "f": [
   {
    "j": "name",
    "t": "@io.k8s.api.core.v1.ResourceName",
    "p": 1,
    "req": 1,
    "d": "name is the name of the resource in question."
   },
   {
    "j": "current",
    "t": "@io.k8s.api.autoscaling.v2.MetricValueStatus",
    "p": 2,
    "req": 1,
    "d": "current contains the current value for the given metric"
   },
   {
    "j": "container",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "container is the name of the container in the pods of the scaling target"
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.CrossVersionObjectReference": {
  "go": "v2.CrossVersionObjectReference",
  "d": "CrossVersionObjectReference contains enough information to let you identify the referred resource.",
  "f": [
   {
    "j": "kind",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "kind is the kind of the referent; More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "name",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "name is the name of the referent; More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names"
   },
   {
    "j": "apiVersion",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "apiVersion is the API version of the referent"
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.ExternalMetricSource": {
  "go": "v2.ExternalMetricSource",
  "d": "ExternalMetricSource indicates how to scale on a metric not associated with any Kubernetes object (for example length of queue in cloud messaging service, or QPS from loadbalancer running outside of cluster).",
  "f": [
   {
    "j": "metric",
    "t": "@io.k8s.api.autoscaling.v2.MetricIdentifier",
    "p": 1,
    "req": 1,
    "d": "metric identifies the target metric by name and selector"
   },
   {
    "j": "target",
    "t": "@io.k8s.api.autoscaling.v2.MetricTarget",
    "p": 2,
    "req": 1,
    "d": "target specifies the target value for the given metric"
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.ExternalMetricStatus": {
  "go": "v2.ExternalMetricStatus",
  "d": "ExternalMetricStatus indicates the current value of a global metric not associated with any Kubernetes object.",
  "f": [
   {
    "j": "metric",
    "t": "@io.k8s.api.autoscaling.v2.MetricIdentifier",
    "p": 1,
    "req": 1,
    "d": "metric identifies the target metric by name and selector"
   },
   {
    "j": "current",
    "t": "@io.k8s.api.autoscaling.v2.MetricValueStatus",
    "p": 2,
    "req": 1,
    "d": "current contains the current value for the given metric"
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.HPAScalingPolicy": {
  "go": "v2.HPAScalingPolicy",
  "d": "HPAScalingPolicy is a single policy which must hold true for a specified past interval.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.autoscaling.v2.HPAScalingPolicyType",
    "p": 1,
    "req": 1,
    "d": "type is used to specify the scaling policy."
   },
   {
    "j": "value",
    "t": "int32",
    "p": 2,
    "req": 1,
    "d": "value contains the amount of change which is permitted by the policy. It must be greater than zero"
   },
   {
    "j": "periodSeconds",
    "t": "int32",
    "p": 3,
    "req": 1,
    "d": "periodSeconds specifies the window of time for which the policy should hold true. PeriodSeconds must be greater than zero and less than or equal to 1800 (30 min)."
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.HPAScalingPolicyType": {
  "go": "v2.HPAScalingPolicyType",
  "u": "string"
 },
 "io.k8s.api.autoscaling.v2.HPAScalingRules": {
  "go": "v2.HPAScalingRules",
  "d": "HPAScalingRules configures the scaling behavior for one direction via scaling Policy Rules and a configurable metric tolerance.\n\nScaling Policy Rules are applied after calculating DesiredReplicas from metrics for the HPA. They can limit the scaling velocity by specifying scaling policies. They can prevent flapping by specifying the stabilization window, so that the number of replicas is not set instantly, instead, the safest value from the stabilization window is chosen.\n\nThe tolerance is applied to the metric values and prevents scaling too eagerly for small metric variations.",
  "f": [
   {
    "j": "stabilizationWindowSeconds",
    "t": "*int32",
    "o": 1,
    "p": 3,
    "d": "stabilizationWindowSeconds is the number of seconds for which past recommendations should be considered while scaling up or scaling down. StabilizationWindowSeconds must be greater than or equal to zero and less than or equal to 3600 (one hour). If not set, use the default values: - For scale up: 0 (i.e. no stabilization is done). - For scale down: 300 (i.e. the stabilization window is 300 seconds long)."
   },
   {
    "j": "selectPolicy",
    "t": "*@io.k8s.api.autoscaling.v2.ScalingPolicySelect",
    "o": 1,
    "p": 1,
    "d": "selectPolicy is used to specify which policy should be used. If not set, the default value Max is used."
   },
   {
    "j": "policies",
    "t": "[]@io.k8s.api.autoscaling.v2.HPAScalingPolicy",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "policies is a list of potential scaling polices which can be used during scaling. If not set, use the default values: - For scale up: allow doubling the number of pods, or an absolute change of 4 pods in a 15s window. - For scale down: allow all pods to be removed in a 15s window."
   },
   {
    "j": "tolerance",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 4,
    "d": "tolerance is the tolerance on the ratio between the current and desired metric value under which no updates are made to the desired number of replicas (e.g. 0.01 for 1%). Must be greater than or equal to zero. If not set, the default cluster-wide tolerance is applied (by default 10%).\n\nFor example, if autoscaling is configured with a memory consumption target of 100Mi, and scale-down and scale-up tolerances of 5% and 1% respectively, scaling will be triggered when the actual consumption falls below 95Mi or exceeds 101Mi."
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler": {
  "go": "v2.HorizontalPodAutoscaler",
  "d": "HorizontalPodAutoscaler is the configuration for a horizontal pod autoscaler, which automatically manages the replica count of any resource implementing the scale subresource based on the metrics specified.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec",
    "o": 1,
    "p": 2,
    "req": 1,
    "d": "spec is the specification for the behaviour of the autoscaler. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus",
    "o": 1,
    "p": 3,
    "d": "status is the current information about the autoscaler."
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior": {
  "go": "v2.HorizontalPodAutoscalerBehavior",
  "d": "HorizontalPodAutoscalerBehavior configures the scaling behavior of the target in both Up and Down directions (scaleUp and scaleDown fields respectively).",
  "f": [
   {
    "j": "scaleUp",
    "t": "*@io.k8s.api.autoscaling.v2.HPAScalingRules",
    "o": 1,
    "p": 1,
    "d": "scaleUp is scaling policy for scaling Up. If not set, the default value is the higher of:\n  * increase no more than 4 pods per 60 seconds\n  * double the number of pods per 60 seconds\nNo stabilization is used."
   },
   {
    "j": "scaleDown",
    "t": "*@io.k8s.api.autoscaling.v2.HPAScalingRules",
    "o": 1,
    "p": 2,
    "d": "scaleDown is scaling policy for scaling Down. If not set, the default value is to allow to scale down to minReplicas pods, with a 300 second stabilization window (i.e., the highest recommendation for the last 300sec is used)."
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerCondition": {
  "go": "v2.HorizontalPodAutoscalerCondition",
  "d": "HorizontalPodAutoscalerCondition describes the state of a HorizontalPodAutoscaler at a certain point.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerConditionType",
    "p": 1,
    "req": 1,
    "d": "type describes the current condition"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ConditionStatus",
    "p": 2,
    "req": 1,
    "d": "status is the status of the condition (True, False, Unknown)"
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 3,
    "d": "lastTransitionTime is the last time the condition transitioned from one status to another"
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "reason is the reason for the condition's last transition."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "message is a human-readable explanation containing details about the transition"
   },
   {
    "j": "observedGeneration",
    "t": "*int64",
    "o": 1,
    "p": 6,
    "d": "observedGeneration represents the .metadata.generation that the condition was set based upon. For instance, if .metadata.generation is currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date with respect to the current state of the instance."
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerConditionType": {
  "go": "v2.HorizontalPodAutoscalerConditionType",
  "u": "string"
 },
 "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerList": {
  "go": "v2.HorizontalPodAutoscalerList",
  "d": "HorizontalPodAutoscalerList is a list of horizontal pod autoscaler objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard list metadata."
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
    "p": 2,
    "req": 1,
    "d": "items is the list of horizontal pod autoscaler objects."
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec": {
  "go": "v2.HorizontalPodAutoscalerSpec",
  "d": "HorizontalPodAutoscalerSpec describes the desired functionality of the HorizontalPodAutoscaler.",
  "f": [
   {
    "j": "scaleTargetRef",
    "t": "@io.k8s.api.autoscaling.v2.CrossVersionObjectReference",
    "p": 1,
    "req": 1,
    "d": "scaleTargetRef points to the target resource to scale, and is used to the pods for which metrics should be collected, as well as to actually change the replica count."
   },
   {
    "j": "minReplicas",
    "t": "*int32",
    "o": 1,
    "p": 2,
    "d": "minReplicas is the lower limit for the number of replicas to which the autoscaler can scale down.  It defaults to 1 pod.  minReplicas is allowed to be 0 if the alpha feature gate HPAScaleToZero is enabled and at least one Object or External metric is configured.  Scaling is active as long as at least one metric value is available."
   },
   {
    "j": "maxReplicas",
    "t": "int32",
    "p": 3,
    "req": 1,
    "d": "maxReplicas is the upper limit for the number of replicas to which the autoscaler can scale up. It cannot be less that minReplicas."
   },
   {
    "j": "metrics",
    "t": "[]@io.k8s.api.autoscaling.v2.MetricSpec",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "metrics contains the specifications for which to use to calculate the desired replica count (the maximum replica count across all metrics will be used).  The desired replica count is calculated multiplying the ratio between the target value and the current value by the current number of pods.  Ergo, metrics used must decrease as the pod count is increased, and vice-versa.  See the individual metric source types for more information about how each type of metric must respond. If not set, the default metric will be set to 80% average CPU utilization."
   },
   {
    "j": "behavior",
    "t": "*@io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior",
    "o": 1,
    "p": 5,
    "d": "behavior configures the scaling behavior of the target in both Up and Down directions (scaleUp and scaleDown fields respectively). If not set, the default HPAScalingRules for scale up and scale down are used."
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus": {
  "go": "v2.HorizontalPodAutoscalerStatus",
  "d": "HorizontalPodAutoscalerStatus describes the current status of a horizontal pod autoscaler.",
  "f": [
   {
    "j": "observedGeneration",
    "t": "*int64",
    "o": 1,
    "p": 1,
    "d": "observedGeneration is the most recent generation observed by this autoscaler."
   },
   {
    "j": "lastScaleTime",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 2,
    "d": "lastScaleTime is the last time the HorizontalPodAutoscaler scaled the number of pods, used by the autoscaler to control how often the number of pods is changed."
   },
   {
    "j": "currentReplicas",
    "t": "int32",
    "o": 1,
    "p": 3,
    "d": "currentReplicas is current number of replicas of pods managed by this autoscaler, as last seen by the autoscaler."
   },
   {
    "j": "desiredReplicas",
    "t": "int32",
    "p": 4,
    "req": 1,
    "d": "desiredReplicas is the desired number of replicas of pods managed by this autoscaler, as last calculated by the autoscaler."
   },
   {
    "j": "currentMetrics",
    "t": "[]@io.k8s.api.autoscaling.v2.MetricStatus",
    "p": 5,
    "lt": "atomic",
    "d": "currentMetrics is the last read state of the metrics used by this autoscaler."
   },
   {
    "j": "conditions",
    "t": "[]@io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerCondition",
    "o": 1,
    "p": 6,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "conditions is the set of conditions required for this autoscaler to scale its target, and indicates whether or not those conditions are met."
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.MetricIdentifier": {
  "go": "v2.MetricIdentifier",
  "d": "MetricIdentifier defines the name and optionally selector for a metric",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name is the name of the given metric"
   },
   {
    "j": "selector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 2,
    "d": "selector is the string-encoded form of a standard kubernetes label selector for the given metric When set, it is passed as an additional parameter to the metrics server for more specific metrics scoping. When unset, just the metricName will be used to gather metrics."
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.MetricSourceType": {
  "go": "v2.MetricSourceType",
  "u": "string"
 },
 "io.k8s.api.autoscaling.v2.MetricSpec": {
  "go": "v2.MetricSpec",
  "d": "MetricSpec specifies how to scale based on a single metric (only `type` and one other matching field should be set at once).",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.autoscaling.v2.MetricSourceType",
    "p": 1,
    "req": 1,
    "d": "type is the type of metric source.  It should be one of \"ContainerResource\", \"External\", \"Object\", \"Pods\" or \"Resource\", each mapping to a matching field in the object."
   },
   {
    "j": "object",
    "t": "*@io.k8s.api.autoscaling.v2.ObjectMetricSource",
    "o": 1,
    "p": 2,
    "d": "object refers to a metric describing a single kubernetes object (for example, hits-per-second on an Ingress object)."
   },
   {
    "j": "pods",
    "t": "*@io.k8s.api.autoscaling.v2.PodsMetricSource",
    "o": 1,
    "p": 3,
    "d": "pods refers to a metric describing each pod in the current scale target (for example, transactions-processed-per-second).  The values will be averaged together before being compared to the target value."
   },
   {
    "j": "resource",
    "t": "*@io.k8s.api.autoscaling.v2.ResourceMetricSource",
    "o": 1,
    "p": 4,
    "d": "resource refers to a resource metric (such as those specified in requests and limits) known to Kubernetes describing each pod in the current scale target (e.g. CPU or memory). Such metrics are built in to Kubernetes, and have special scaling options on top of those available to normal per-pod metrics using the \"pods\" source."
   },
   {
    "j": "containerResource",
    "t": "*@io.k8s.api.autoscaling.v2.ContainerResourceMetricSource",
    "o": 1,
    "p": 7,
    "d": "containerResource refers to a resource metric (such as those specified in requests and limits) known to Kubernetes describing a single container in each pod of the current scale target (e.g. CPU or memory). Such metrics are built in to Kubernetes, and have special scaling options on top of those available to normal per-pod metrics using the \"pods\" source."
   },
   {
    "j": "external",
    "t": "*@io.k8s.api.autoscaling.v2.ExternalMetricSource",
    "o": 1,
    "p": 5,
    "d": "external refers to a global metric that is not associated with any Kubernetes object. It allows autoscaling based on information coming from components running outside of cluster (for example length of queue in cloud messaging service, or QPS from loadbalancer running outside of cluster)."
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.MetricStatus": {
  "go": "v2.MetricStatus",
  "d": "MetricStatus describes the last-read state of a single metric.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.autoscaling.v2.MetricSourceType",
    "p": 1,
    "req": 1,
    "d": "type is the type of metric source.  It will be one of \"ContainerResource\", \"External\", \"Object\", \"Pods\" or \"Resource\", each corresponds to a matching field in the object."
   },
   {
    "j": "object",
    "t": "*@io.k8s.api.autoscaling.v2.ObjectMetricStatus",
    "o": 1,
    "p": 2,
    "d": "object refers to a metric describing a single kubernetes object (for example, hits-per-second on an Ingress object)."
   },
   {
    "j": "pods",
    "t": "*@io.k8s.api.autoscaling.v2.PodsMetricStatus",
    "o": 1,
    "p": 3,
    "d": "pods refers to a metric describing each pod in the current scale target (for example, transactions-processed-per-second).  The values will be averaged together before being compared to the target value."
   },
   {
    "j": "resource",
    "t": "*@io.k8s.api.autoscaling.v2.ResourceMetricStatus",
    "o": 1,
    "p": 4,
    "d": "resource refers to a resource metric (such as those specified in requests and limits) known to Kubernetes describing each pod in the current scale target (e.g. CPU or memory). Such metrics are built in to Kubernetes, and have special scaling options on top of those available to normal per-pod metrics using the \"pods\" source."
   },
   {
    "j": "containerResource",
    "t": "*@io.k8s.api.autoscaling.v2.ContainerResourceMetricStatus",
    "o": 1,
    "p": 7,
    "d": "containerResource refers to a resource metric (such as those specified in requests and limits) known to Kubernetes describing a single container in each pod in the current scale target (e.g. CPU or memory). Such metrics are built in to Kubernetes, and have special scaling options on top of those available to normal per-pod metrics using the \"pods\" source."
   },
   {
    "j": "external",
    "t": "*@io.k8s.api.autoscaling.v2.ExternalMetricStatus",
    "o": 1,
    "p": 5,
    "d": "external refers to a global metric that is not associated with any Kubernetes object. It allows autoscaling based on information coming from components running outside of cluster (for example length of queue in cloud messaging service, or QPS from loadbalancer running outside of cluster)."
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.MetricTarget": {
  "go": "v2.MetricTarget",
  "d": "MetricTarget defines the target value, average value, or average utilization of a specific metric",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.autoscaling.v2.MetricTargetType",
    "p": 1,
    "req": 1,
    "d": "type represents whether the metric type is Utilization, Value, or AverageValue"
   },
   {
    "j": "value",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 2,
    "d": "value is the target value of the metric (as a quantity)."
   },
   {
    "j": "averageValue",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 3,
    "d": "averageValue is the target value of the average of the metric across all relevant pods (as a quantity)"
   },
   {
    "j": "averageUtilization",
    "t": "*int32",
    "o": 1,
    "p": 4,
    "d": "averageUtilization is the target value of the average of the resource metric across all relevant pods, represented as a percentage of the requested value of the resource for the pods. Currently only valid for Resource metric source type"
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.MetricTargetType": {
  "go": "v2.MetricTargetType",
  "u": "string"
 },
 "io.k8s.api.autoscaling.v2.MetricValueStatus": {
  "go": "v2.MetricValueStatus",
  "d": "MetricValueStatus holds the current value for a metric",
  "f": [
   {
    "j": "value",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 1,
    "d": "value is the current value of the metric (as a quantity)."
   },
   {
    "j": "averageValue",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 2,
    "d": "averageValue is the current value of the average of the metric across all relevant pods (as a quantity)"
   },
   {
    "j": "averageUtilization",
    "t": "*int32",
    "o": 1,
    "p": 3,
    "d": "averageUtilization is the current value of the average of the resource metric across all relevant pods, represented as a percentage of the requested value of the resource for the pods."
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.ObjectMetricSource": {
  "go": "v2.ObjectMetricSource",
  "d": "ObjectMetricSource indicates how to scale on a metric describing a kubernetes object (for example, hits-per-second on an Ingress object).",
  "f": [
   {
    "j": "describedObject",
    "t": "@io.k8s.api.autoscaling.v2.CrossVersionObjectReference",
    "p": 1,
    "req": 1,
    "d": "describedObject specifies the descriptions of a object,such as kind,name apiVersion"
   },
   {
    "j": "target",
    "t": "@io.k8s.api.autoscaling.v2.MetricTarget",
    "p": 2,
    "req": 1,
    "d": "target specifies the target value for the given metric"
   },
   {
    "j": "metric",
    "t": "@io.k8s.api.autoscaling.v2.MetricIdentifier",
    "p": 3,
    "req": 1,
    "d": "metric identifies the target metric by name and selector"
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.ObjectMetricStatus": {
  "go": "v2.ObjectMetricStatus",
  "d": "ObjectMetricStatus indicates the current value of a metric describing a kubernetes object (for example, hits-per-second on an Ingress object).",
  "f": [
   {
    "j": "metric",
    "t": "@io.k8s.api.autoscaling.v2.MetricIdentifier",
    "p": 1,
    "req": 1,
    "d": "metric identifies the target metric by name and selector"
   },
   {
    "j": "current",
    "t": "@io.k8s.api.autoscaling.v2.MetricValueStatus",
    "p": 2,
    "req": 1,
    "d": "current contains the current value for the given metric"
   },
   {
    "j": "describedObject",
    "t": "@io.k8s.api.autoscaling.v2.CrossVersionObjectReference",
    "p": 3,
    "req": 1,
    "d": "describedObject specifies the descriptions of a object,such as kind,name apiVersion"
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.PodsMetricSource": {
  "go": "v2.PodsMetricSource",
  "d": "PodsMetricSource indicates how to scale on a metric describing each pod in the current scale target (for example, transactions-processed-per-second). The values will be averaged together before being compared to the target value.",
  "f": [
   {
    "j": "metric",
    "t": "@io.k8s.api.autoscaling.v2.MetricIdentifier",
    "p": 1,
    "req": 1,
    "d": "metric identifies the target metric by name and selector"
   },
   {
    "j": "target",
    "t": "@io.k8s.api.autoscaling.v2.MetricTarget",
    "p": 2,
    "req": 1,
    "d": "target specifies the target value for the given metric"
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.PodsMetricStatus": {
  "go": "v2.PodsMetricStatus",
  "d": "PodsMetricStatus indicates the current value of a metric describing each pod in the current scale target (for example, transactions-processed-per-second).",
  "f": [
   {
    "j": "metric",
    "t": "@io.k8s.api.autoscaling.v2.MetricIdentifier",
    "p": 1,
    "req": 1,
    "d": "metric identifies the target metric by name and selector"
   },
   {
    "j": "current",
    "t": "@io.k8s.api.autoscaling.v2.MetricValueStatus",
    "p": 2,
    "req": 1,
    "d": "current contains the current value for the given metric"
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.ResourceMetricSource": {
  "go": "v2.ResourceMetricSource",
  "d": "ResourceMetricSource indicates how to scale on a resource metric known to Kubernetes, as specified in requests and limits, describing each pod in the current scale target (e.g. CPU or memory).  The values will be averaged together before being compared to the target.  Such metrics are built in to Kubernetes, and have special scaling options on top of those available to normal per-pod metrics using the \"pods\" source.  Only one \"target\" type should be set.",
  "f": [
   {
    "j": "name",
    "t": "@io.k8s.api.core.v1.ResourceName",
    "p": 1,
    "req": 1,
    "d": "name is the name of the resource in question."
   },
   {
    "j": "target",
    "t": "@io.k8s.api.autoscaling.v2.MetricTarget",
    "p": 2,
    "req": 1,
    "d": "target specifies the target value for the given metric"
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.ResourceMetricStatus": {
  "go": "v2.ResourceMetricStatus",
  "d": "ResourceMetricStatus indicates the current value of a resource metric known to Kubernetes, as specified in requests and limits, describing each pod in the current scale target (e.g. CPU or memory).  Such metrics are built in to Kubernetes, and have special scaling options on top of those available to normal per-pod metrics using the \"pods\" source.",
  "f": [
   {
    "j": "name",
    "t": "@io.k8s.api.core.v1.ResourceName",
    "p": 1,
    "req": 1,
    "d": "name is the name of the resource in question."
   },
   {
    "j": "current",
    "t": "@io.k8s.api.autoscaling.v2.MetricValueStatus",
    "p": 2,
    "req": 1,
    "d": "current contains the current value for the given metric"
   }
  ]
 },
 "io.k8s.api.autoscaling.v2.ScalingPolicySelect": {
  "go": "v2.ScalingPolicySelect",
  "u": "string"
 },
 "io.k8s.api.batch.v1.CompletionMode": {
  "go": "v1.CompletionMode",
  "u": "string"
 },
 "io.k8s.api.batch.v1.ConcurrencyPolicy": {
  "go": "v1.ConcurrencyPolicy",
  "u": "string"
 },
 "io.k8s.api.batch.v1.CronJob": {
  "go": "v1.CronJob",
  "d": "CronJob represents the configuration of a single cron job.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.batch.v1.CronJobSpec",
    "o": 1,
    "p": 2,
    "req": 1,
    "d": "Specification of the desired behavior of a cron job, including the schedule. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.batch.v1.CronJobStatus",
    "o": 1,
    "p": 3,
    "d": "Current status of a cron job. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.batch.v1.CronJobList": {
  "go": "v1.CronJobList",
  "d": "CronJobList is a collection of cron jobs.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.batch.v1.CronJob",
    "p": 2,
    "req": 1,
    "d": "items is the list of CronJobs."
   }
  ]
 },
 "io.k8s.api.batch.v1.CronJobSpec": {
  "go": "v1.CronJobSpec",
  "d": "CronJobSpec describes how the job execution will look like and when it will actually run.",
  "f": [
   {
    "j": "schedule",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "The schedule in Cron format, see https://en.wikipedia.org/wiki/Cron."
   },
   {
    "j": "timeZone",
    "t": "*string",
    "o": 1,
    "p": 8,
    "d": "The time zone name for the given schedule, see https://en.wikipedia.org/wiki/List_of_tz_database_time_zones. If not specified, this will default to the time zone of the kube-controller-manager process. The set of valid time zone names and the time zone offset is loaded from the system-wide time zone database by the API server during CronJob validation and the controller manager during execution. If no system-wide time zone database can be found a bundled version of the database is used instead. If the time zone name becomes invalid during the lifetime of a CronJob or due to a change in host configuration, the controller will stop creating new new Jobs and will create a system event with the reason UnknownTimeZone. More information can be found in https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#time-zones"
   },
   {
    "j": "startingDeadlineSeconds",
    "t": "*int64",
    "o": 1,
    "p": 2,
    "d": "Optional deadline in seconds for starting the job if it misses scheduled time for any reason.  Missed jobs executions will be counted as failed ones."
   },
   {
    "j": "concurrencyPolicy",
    "t": "@io.k8s.api.batch.v1.ConcurrencyPolicy",
    "o": 1,
    "p": 3,
    "d": "Specifies how to treat concurrent executions of a Job. Valid values are:\n\n- \"Allow\" (default): allows CronJobs to run concurrently; - \"Forbid\": forbids concurrent runs, skipping next run if previous run hasn't finished yet; - \"Replace\": cancels currently running job and replaces it with a new one"
   },
   {
    "j": "suspend",
    "t": "*bool",
    "o": 1,
    "p": 4,
    "d": "This flag tells the controller to suspend subsequent executions, it does not apply to already started executions.  Defaults to false."
   },
   {
    "j": "jobTemplate",
    "t": "@io.k8s.api.batch.v1.JobTemplateSpec",
    "p": 5,
    "req": 1,
    "d": "Specifies the job that will be created when executing a CronJob."
   },
   {
    "j": "successfulJobsHistoryLimit",
    "t": "*int32",
    "o": 1,
    "p": 6,
    "d": "The number of successful finished jobs to retain. Value must be non-negative integer. Defaults to 3."
   },
   {
    "j": "failedJobsHistoryLimit",
    "t": "*int32",
    "o": 1,
    "p": 7,
    "d": "The number of failed finished jobs to retain. Value must be non-negative integer. Defaults to 1."
   }
  ]
 },
 "io.k8s.api.batch.v1.CronJobStatus": {
  "go": "v1.CronJobStatus",
  "d": "CronJobStatus represents the current state of a cron job.",
  "f": [
   {
    "j": "active",
    "t": "[]@io.k8s.api.core.v1.ObjectReference",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "A list of pointers to currently running jobs."
   },
   {
    "j": "lastScheduleTime",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 4,
    "d": "Information when was the last time the job was successfully scheduled."
   },
   {
    "j": "lastSuccessfulTime",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 5,
    "d": "Information when was the last time the job successfully completed."
   }
  ]
 },
 "io.k8s.api.batch.v1.Job": {
  "go": "v1.Job",
  "d": "Job represents the configuration of a single job.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.batch.v1.JobSpec",
    "o": 1,
    "p": 2,
    "d": "Specification of the desired behavior of a job. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.batch.v1.JobStatus",
    "o": 1,
    "p": 3,
    "d": "Current status of a job. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.batch.v1.JobCondition": {
  "go": "v1.JobCondition",
  "d": "JobCondition describes current state of a job.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.batch.v1.JobConditionType",
    "p": 1,
    "req": 1,
    "d": "Type of job condition, Complete or Failed."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ConditionStatus",
    "p": 2,
    "req": 1,
    "d": "Status of the condition, one of True, False, Unknown."
   },
   {
    "j": "lastProbeTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 3,
    "d": "Last time the condition was checked."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 4,
    "d": "Last time the condition transit from one status to another."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "(brief) reason for the condition's last transition."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "Human readable message indicating details about last transition."
   }
  ]
 },
 "io.k8s.api.batch.v1.JobConditionType": {
  "go": "v1.JobConditionType",
  "u": "string"
 },
 "io.k8s.api.batch.v1.JobList": {
  "go": "v1.JobList",
  "d": "JobList is a collection of jobs.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.batch.v1.Job",
    "p": 2,
    "req": 1,
    "d": "items is the list of Jobs."
   }
  ]
 },
 "io.k8s.api.batch.v1.JobSchedulingConfiguration": {
  "go": "v1.JobSchedulingConfiguration",
  "d": "JobSchedulingConfiguration composes the reusable workload-aware scheduling building blocks.",
  "f": [
   {
    "j": "schedulingPolicy",
    "t": "*@k8s.io/api/scheduling/v1alpha3.WorkloadPodGroupSchedulingPolicy",
    "o": 1,
    "p": 1,
    "d": "SchedulingPolicy defines the scheduling policy for this Job. Exactly one of Basic or Gang must be set. This field is immutable after creation: the policy may not be added or removed. The policy variant (basic/gang) is frozen by hand-written validation; only schedulingPolicy.gang.minCount may be changed."
   },
   {
    "j": "schedulingConstraints",
    "t": "*@k8s.io/api/scheduling/v1alpha3.WorkloadPodGroupSchedulingConstraints",
    "o": 1,
    "p": 2,
    "d": "SchedulingConstraints defines scheduling constraints (e.g. topology) for the Job's pods. This field is immutable after creation."
   },
   {
    "j": "disruptionMode",
    "t": "*@k8s.io/api/scheduling/v1alpha3.WorkloadPodGroupDisruptionMode",
    "o": 1,
    "p": 3,
    "d": "DisruptionMode defines the mode in which the Job's pods can be disrupted. One of Single, All. This field is immutable after creation: it may not be added or removed, and the selected mode may not be changed."
   },
   {
    "j": "resourceClaims",
    "t": "[]@k8s.io/api/scheduling/v1alpha3.WorkloadPodGroupResourceClaim",
    "o": 1,
    "p": 4,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "ResourceClaims defines which ResourceClaims may be shared among Pods in the Job. Pods consume the devices allocated to a PodGroup's claim by defining a claim in its own Spec.ResourceClaims that matches the PodGroup's claim exactly. The claim must have the same name and refer to the same ResourceClaim or ResourceClaimTemplate. At most 4 claims may be set, matching the limit on the resulting PodGroup. This list is immutable after creation: entries may neither be added, removed, nor modified."
   }
  ]
 },
 "io.k8s.api.batch.v1.JobSpec": {
  "go": "v1.JobSpec",
  "d": "JobSpec describes how the job execution will look like.",
  "f": [
   {
    "j": "parallelism",
    "t": "*int32",
    "o": 1,
    "p": 1,
    "d": "Specifies the maximum desired number of pods the job should run at any given time. The actual number of pods running in steady state will be less than this number when ((.spec.completions - .status.successful) < .spec.parallelism), i.e. when the work left to do is less than max parallelism. More info: https://kubernetes.io/docs/concepts/workloads/controllers/jobs-run-to-completion/"
   },
   {
    "j": "completions",
    "t": "*int32",
    "o": 1,
    "p": 2,
    "d": "Specifies the desired number of successfully finished pods the job should be run with.  Setting to null means that the success of any pod signals the success of all pods, and allows parallelism to have any positive value.  Setting to 1 means that parallelism is limited to 1 and the success of that pod signals the success of the job. More info: https://kubernetes.io/docs/concepts/workloads/controllers/jobs-run-to-completion/"
   },
   {
    "j": "activeDeadlineSeconds",
    "t": "*int64",
    "o": 1,
    "p": 3,
    "d": "Specifies the duration in seconds relative to the startTime that the job may be continuously active before the system tries to terminate it; value must be positive integer. If a Job is suspended (at creation or through an update), this timer will effectively be stopped and reset when the Job is resumed again."
   },
   {
    "j": "podFailurePolicy",
    "t": "*@io.k8s.api.batch.v1.PodFailurePolicy",
    "o": 1,
    "p": 11,
    "d": "Specifies the policy of handling failed pods. In particular, it allows to specify the set of actions and conditions which need to be satisfied to take the associated action. If empty, the default behaviour applies - the counter of failed pods, represented by the jobs's .status.failed field, is incremented and it is checked against the backoffLimit. This field cannot be used in combination with restartPolicy=OnFailure."
   },
   {
    "j": "successPolicy",
    "t": "*@io.k8s.api.batch.v1.SuccessPolicy",
    "o": 1,
    "p": 16,
    "d": "successPolicy specifies the policy when the Job can be declared as succeeded. If empty, the default behavior applies - the Job is declared as succeeded only when the number of succeeded pods equals to the completions. When the field is specified, it must be immutable and works only for the Indexed Jobs. Once the Job meets the SuccessPolicy, the lingering pods are terminated."
   },
   {
    "j": "backoffLimit",
    "t": "*int32",
    "o": 1,
    "p": 7,
    "d": "Specifies the number of retries before marking this job failed. Defaults to 6, unless backoffLimitPerIndex (only Indexed Job) is specified. When backoffLimitPerIndex is specified, backoffLimit defaults to 2147483647."
   },
   {
    "j": "backoffLimitPerIndex",
    "t": "*int32",
    "o": 1,
    "p": 12,
    "d": "Specifies the limit for the number of retries within an index before marking this index as failed. When enabled the number of failures per index is kept in the pod's batch.kubernetes.io/job-index-failure-count annotation. It can only be set when Job's completionMode=Indexed, and the Pod's restart policy is Never. The field is immutable."
   },
   {
    "j": "maxFailedIndexes",
    "t": "*int32",
    "o": 1,
    "p": 13,
    "d": "Specifies the maximal number of failed indexes before marking the Job as failed, when backoffLimitPerIndex is set. Once the number of failed indexes exceeds this number the entire Job is marked as Failed and its execution is terminated. When left as null the job continues execution of all of its indexes and is marked with the `Complete` Job condition. It can only be specified when backoffLimitPerIndex is set. It can be null or up to completions. It is required and must be less than or equal to 10^4 when is completions greater than 10^5."
   },
   {
    "j": "selector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 4,
    "d": "A label query over pods that should match the pod count. Normally, the system sets this field for you. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors"
   },
   {
    "j": "manualSelector",
    "t": "*bool",
    "o": 1,
    "p": 5,
    "d": "manualSelector controls generation of pod labels and pod selectors. Leave `manualSelector` unset unless you are certain what you are doing. When false or unset, the system pick labels unique to this job and appends those labels to the pod template.  When true, the user is responsible for picking unique labels and specifying the selector.  Failure to pick a unique label may cause this and other jobs to not function correctly.  However, You may see `manualSelector=true` in jobs that were created with the old `extensions/v1beta1` API. More info: https://kubernetes.io/docs/concepts/workloads/controllers/jobs-run-to-completion/#specifying-your-own-pod-selector"
   },
   {
    "j": "template",
    "t": "@io.k8s.api.core.v1.PodTemplateSpec",
    "p": 6,
    "req": 1,
    "d": "Describes the pod that will be created when executing a job. The only allowed template.spec.restartPolicy values are \"Never\" or \"OnFailure\". More info: https://kubernetes.io/docs/concepts/workloads/controllers/jobs-run-to-completion/"
   },
   {
    "j": "ttlSecondsAfterFinished",
    "t": "*int32",
    "o": 1,
    "p": 8,
    "d": "ttlSecondsAfterFinished limits the lifetime of a Job that has finished execution (either Complete or Failed). If this field is set, ttlSecondsAfterFinished after the Job finishes, it is eligible to be automatically deleted. When the Job is being deleted, its lifecycle guarantees (e.g. finalizers) will be honored. If this field is unset, the Job won't be automatically deleted. If this field is set to zero, the Job becomes eligible to be deleted immediately after it finishes."
   },
   {
    "j": "completionMode",
    "t": "*@io.k8s.api.batch.v1.CompletionMode",
    "o": 1,
    "p": 9,
    "d": "completionMode specifies how Pod completions are tracked. It can be `NonIndexed` (default) or `Indexed`.\n\n`NonIndexed` means that the Job is considered complete when there have been .spec.completions successfully completed Pods. Each Pod completion is homologous to each other.\n\n`Indexed` means that the Pods of a Job get an associated completion index from 0 to (.spec.completions - 1), available in the annotation batch.kubernetes.io/job-completion-index. The Job is considered complete when there is one successfully completed Pod for each index. When value is `Indexed`, .spec.completions must be specified and `.spec.parallelism` must be less than or equal to 10^5. In addition, The Pod name takes the form `$(job-name)-$(index)-$(random-string)`, the Pod hostname takes the form `$(job-name)-$(index)`.\n\nMore completion modes can be added in the future. If the Job controller observes a mode that it doesn't recognize, which is possible during upgrades due to version skew, the controller skips updates for the Job."
   },
   {
    "j": "suspend",
    "t": "*bool",
    "o": 1,
    "p": 10,
    "d": "suspend specifies whether the Job controller should create Pods or not. If a Job is created with suspend set to true, no Pods are created by the Job controller. If a Job is suspended after creation (i.e. the flag goes from false to true), the Job controller will delete all active Pods associated with this Job. Users must design their workload to gracefully handle this. Suspending a Job will reset the StartTime field of the Job, effectively resetting the ActiveDeadlineSeconds timer too. Defaults to false."
   },
   {
    "j": "podReplacementPolicy",
    "t": "*@io.k8s.api.batch.v1.PodReplacementPolicy",
    "o": 1,
    "p": 14,
    "d": "podReplacementPolicy specifies when to create replacement Pods. Possible values are: - TerminatingOrFailed means that we recreate pods\n  when they are terminating (has a metadata.deletionTimestamp) or failed.\n- Failed means to wait until a previously created Pod is fully terminated (has phase\n  Failed or Succeeded) before creating a replacement Pod.\n\nWhen using podFailurePolicy, Failed is the the only allowed value. TerminatingOrFailed and Failed are allowed values when podFailurePolicy is not in use."
   },
   {
    "j": "managedBy",
    "t": "*string",
    "o": 1,
    "p": 15,
    "d": "ManagedBy field indicates the controller that manages a Job. The k8s Job controller reconciles jobs which don't have this field at all or the field value is the reserved string `kubernetes.io/job-controller`, but skips reconciling Jobs with a custom value for this field. The value must be a valid domain-prefixed path (e.g. acme.io/foo) - all characters before the first \"/\" must be a valid subdomain as defined by RFC 1123. All characters trailing the first \"/\" must be valid HTTP Path characters as defined by RFC 3986. The value cannot exceed 63 characters. This field is immutable."
   },
   {
    "j": "scheduling",
    "t": "*@io.k8s.api.batch.v1.JobSchedulingConfiguration",
    "o": 1,
    "p": 17,
    "d": "scheduling defines the Workload-aware Scheduling configuration for this Job. When set, it specifies the scheduling policy (basic or gang), topology constraints, disruption mode, and shared resource claims. When omitted, the Job defaults to the basic scheduling policy, which behaves as standard pod-by-pod scheduling. This field is alpha-level and requires the WorkloadWithJob feature gate. This field is immutable, including whether it is set at all, only policy.gang.minCount may be changed after creation."
   }
  ]
 },
 "io.k8s.api.batch.v1.JobStatus": {
  "go": "v1.JobStatus",
  "d": "JobStatus represents the current state of a Job.",
  "f": [
   {
    "j": "conditions",
    "t": "[]@io.k8s.api.batch.v1.JobCondition",
    "o": 1,
    "p": 1,
    "ps": "merge",
    "pk": "type",
    "lt": "atomic",
    "d": "The latest available observations of an object's current state. When a Job fails, one of the conditions will have type \"Failed\" and status true. When a Job is suspended, one of the conditions will have type \"Suspended\" and status true; when the Job is resumed, the status of this condition will become false. When a Job is completed, one of the conditions will have type \"Complete\" and status true.\n\nA job is considered finished when it is in a terminal condition, either \"Complete\" or \"Failed\". A Job cannot have both the \"Complete\" and \"Failed\" conditions. Additionally, it cannot be in the \"Complete\" and \"FailureTarget\" conditions. The \"Complete\", \"Failed\" and \"FailureTarget\" conditions cannot be disabled.\n\nMore info: https://kubernetes.io/docs/concepts/workloads/controllers/jobs-run-to-completion/"
   },
   {
    "j": "startTime",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 2,
    "d": "Represents time when the job controller started processing a job. When a Job is created in the suspended state, this field is not set until the first time it is resumed. This field is reset every time a Job is resumed from suspension. It is represented in RFC3339 form and is in UTC.\n\nOnce set, the field can only be removed when the job is suspended. The field cannot be modified while the job is unsuspended or finished."
   },
   {
    "j": "completionTime",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 3,
    "d": "Represents time when the job was completed. It is not guaranteed to be set in happens-before order across separate operations. It is represented in RFC3339 form and is in UTC. The completion time is set when the job finishes successfully, and only then. The value cannot be updated or removed. The value indicates the same or later point in time as the startTime field."
   },
   {
    "j": "active",
    "t": "int32",
    "o": 1,
    "p": 4,
    "d": "The number of pending and running pods which are not terminating (without a deletionTimestamp). The value is zero for finished jobs."
   },
   {
    "j": "succeeded",
    "t": "int32",
    "o": 1,
    "p": 5,
    "d": "The number of pods which reached phase Succeeded. The value increases monotonically for a given spec. However, it may decrease in reaction to scale down of elastic indexed jobs."
   },
   {
    "j": "failed",
    "t": "int32",
    "o": 1,
    "p": 6,
    "d": "The number of pods which reached phase Failed. The value increases monotonically."
   },
   {
    "j": "terminating",
    "t": "*int32",
    "o": 1,
    "p": 11,
    "d": "The number of pods which are terminating (in phase Pending or Running and have a deletionTimestamp)."
   },
   {
    "j": "completedIndexes",
    "t": "string",
    "o": 1,
    "p": 7,
    "d": "completedIndexes holds the completed indexes when .spec.completionMode = \"Indexed\" in a text format. The indexes are represented as decimal integers separated by commas. The numbers are listed in increasing order. Three or more consecutive numbers are compressed and represented by the first and last element of the series, separated by a hyphen. For example, if the completed indexes are 1, 3, 4, 5 and 7, they are represented as \"1,3-5,7\"."
   },
   {
    "j": "failedIndexes",
    "t": "*string",
    "o": 1,
    "p": 10,
    "d": "FailedIndexes holds the failed indexes when spec.backoffLimitPerIndex is set. The indexes are represented in the text format analogous as for the `completedIndexes` field, ie. they are kept as decimal integers separated by commas. The numbers are listed in increasing order. Three or more consecutive numbers are compressed and represented by the first and last element of the series, separated by a hyphen. For example, if the failed indexes are 1, 3, 4, 5 and 7, they are represented as \"1,3-5,7\". The set of failed indexes cannot overlap with the set of completed indexes."
   },
   {
    "j": "uncountedTerminatedPods",
    "t": "*@io.k8s.api.batch.v1.UncountedTerminatedPods",
    "o": 1,
    "p": 8,
    "d": "uncountedTerminatedPods holds the UIDs of Pods that have terminated but the job controller hasn't yet accounted for in the status counters.\n\nThe job controller creates pods with a finalizer. When a pod terminates (succeeded or failed), the controller does three steps to account for it in the job status:\n\n1. Add the pod UID to the arrays in this field. 2. Remove the pod finalizer. 3. Remove the pod UID from the arrays while increasing the corresponding\n    counter.\n\nOld jobs might not be tracked using this field, in which case the field remains null. The structure is empty for finished jobs."
   },
   {
    "j": "ready",
    "t": "*int32",
    "o": 1,
    "p": 9,
    "d": "The number of active pods which have a Ready condition and are not terminating (without a deletionTimestamp)."
   }
  ]
 },
 "io.k8s.api.batch.v1.JobTemplateSpec": {
  "go": "v1.JobTemplateSpec",
  "d": "JobTemplateSpec describes the data a Job should have when created from a template",
  "f": [
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata of the jobs created from this template. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.batch.v1.JobSpec",
    "o": 1,
    "p": 2,
    "d": "Specification of the desired behavior of the job. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.batch.v1.PodFailurePolicy": {
  "go": "v1.PodFailurePolicy",
  "d": "PodFailurePolicy describes how failed pods influence the backoffLimit.",
  "f": [
   {
    "j": "rules",
    "t": "[]@io.k8s.api.batch.v1.PodFailurePolicyRule",
    "p": 1,
    "lt": "atomic",
    "req": 1,
    "d": "A list of pod failure policy rules. The rules are evaluated in order. Once a rule matches a Pod failure, the remaining of the rules are ignored. When no rule matches the Pod failure, the default handling applies - the counter of pod failures is incremented and it is checked against the backoffLimit. At most 20 elements are allowed."
   }
  ]
 },
 "io.k8s.api.batch.v1.PodFailurePolicyAction": {
  "go": "v1.PodFailurePolicyAction",
  "u": "string"
 },
 "io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesOperator": {
  "go": "v1.PodFailurePolicyOnExitCodesOperator",
  "u": "string"
 },
 "io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement": {
  "go": "v1.PodFailurePolicyOnExitCodesRequirement",
  "d": "PodFailurePolicyOnExitCodesRequirement describes the requirement for handling a failed pod based on its container exit codes. In particular, it lookups the .state.terminated.exitCode for each app container and init container status, represented by the .status.containerStatuses and .status.initContainerStatuses fields in the Pod status, respectively. Containers completed with success (exit code 0) are excluded from the requirement check.",
  "f": [
   {
    "j": "containerName",
    "t": "*string",
    "o": 1,
    "p": 1,
    "d": "Restricts the check for exit codes to the container with the specified name. When null, the rule applies to all containers. When specified, it should match one the container or initContainer names in the pod template."
   },
   {
    "j": "operator",
    "t": "@io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesOperator",
    "p": 2,
    "req": 1,
    "d": "Represents the relationship between the container exit code(s) and the specified values. Containers completed with success (exit code 0) are excluded from the requirement check. Possible values are:\n\n- In: the requirement is satisfied if at least one container exit code\n  (might be multiple if there are multiple containers not restricted\n  by the 'containerName' field) is in the set of specified values.\n- NotIn: the requirement is satisfied if at least one container exit code\n  (might be multiple if there are multiple containers not restricted\n  by the 'containerName' field) is not in the set of specified values.\nAdditional values are considered to be added in the future. Clients should react to an unknown operator by assuming the requirement is not satisfied."
   },
   {
    "j": "values",
    "t": "[]int32",
    "p": 3,
    "lt": "set",
    "req": 1,
    "d": "Specifies the set of values. Each returned container exit code (might be multiple in case of multiple containers) is checked against this set of values with respect to the operator. The list of values must be ordered and must not contain duplicates. Value '0' cannot be used for the In operator. At least one element is required. At most 255 elements are allowed."
   }
  ]
 },
 "io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern": {
  "go": "v1.PodFailurePolicyOnPodConditionsPattern",
  "d": "PodFailurePolicyOnPodConditionsPattern describes a pattern for matching an actual pod condition type.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.core.v1.PodConditionType",
    "p": 1,
    "req": 1,
    "d": "Specifies the required Pod condition type. To match a pod condition it is required that specified type equals the pod condition type."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ConditionStatus",
    "p": 2,
    "d": "Specifies the required Pod condition status. To match a pod condition it is required that the specified status equals the pod condition status. Defaults to True."
   }
  ]
 },
 "io.k8s.api.batch.v1.PodFailurePolicyRule": {
  "go": "v1.PodFailurePolicyRule",
  "d": "PodFailurePolicyRule describes how a pod failure is handled when the requirements are met. One of onExitCodes and onPodConditions, but not both, can be used in each rule.",
  "f": [
   {
    "j": "action",
    "t": "@io.k8s.api.batch.v1.PodFailurePolicyAction",
    "p": 1,
    "req": 1,
    "d": "Specifies the action taken on a pod failure when the requirements are satisfied. Possible values are:\n\n- FailJob: indicates that the pod's job is marked as Failed and all\n  running pods are terminated.\n- FailIndex: indicates that the pod's index is marked as Failed and will\n  not be restarted.\n- Ignore: indicates that the counter towards the .backoffLimit is not\n  incremented and a replacement pod is created.\n- Count: indicates that the pod is handled in the default way - the\n  counter towards the .backoffLimit is incremented.\nAdditional values are considered to be added in the future. Clients should react to an unknown action by skipping the rule."
   },
   {
    "j": "onExitCodes",
    "t": "*@io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement",
    "o": 1,
    "p": 2,
    "d": "Represents the requirement on the container exit codes."
   },
   {
    "j": "onPodConditions",
    "t": "[]@io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "Represents the requirement on the pod conditions. The requirement is represented as a list of pod condition patterns. The requirement is satisfied if at least one pattern matches an actual pod condition. At most 20 elements are allowed."
   }
  ]
 },
 "io.k8s.api.batch.v1.PodReplacementPolicy": {
  "go": "v1.PodReplacementPolicy",
  "u": "string"
 },
 "io.k8s.api.batch.v1.SuccessPolicy": {
  "go": "v1.SuccessPolicy",
  "d": "SuccessPolicy describes when a Job can be declared as succeeded based on the success of some indexes.",
  "f": [
   {
    "j": "rules",
    "t": "[]@io.k8s.api.batch.v1.SuccessPolicyRule",
    "p": 1,
    "lt": "atomic",
    "req": 1,
    "d": "rules represents the list of alternative rules for the declaring the Jobs as successful before `.status.succeeded >= .spec.completions`. Once any of the rules are met, the \"SuccessCriteriaMet\" condition is added, and the lingering pods are removed. The terminal state for such a Job has the \"Complete\" condition. Additionally, these rules are evaluated in order; Once the Job meets one of the rules, other rules are ignored. At most 20 elements are allowed."
   }
  ]
 },
 "io.k8s.api.batch.v1.SuccessPolicyRule": {
  "go": "v1.SuccessPolicyRule",
  "d": "SuccessPolicyRule describes rule for declaring a Job as succeeded. Each rule must have at least one of the \"succeededIndexes\" or \"succeededCount\" specified.",
  "f": [
   {
    "j": "succeededIndexes",
    "t": "*string",
    "o": 1,
    "p": 1,
    "d": "succeededIndexes specifies the set of indexes which need to be contained in the actual set of the succeeded indexes for the Job. The list of indexes must be within 0 to \".spec.completions-1\" and must not contain duplicates. At least one element is required. The indexes are represented as intervals separated by commas. The intervals can be a decimal integer or a pair of decimal integers separated by a hyphen. The number are listed in represented by the first and last element of the series, separated by a hyphen. For example, if the completed indexes are 1, 3, 4, 5 and 7, they are represented as \"1,3-5,7\". When this field is null, this field doesn't default to any value and is never evaluated at any time."
   },
   {
    "j": "succeededCount",
    "t": "*int32",
    "o": 1,
    "p": 2,
    "d": "succeededCount specifies the minimal required size of the actual set of the succeeded indexes for the Job. When succeededCount is used along with succeededIndexes, the check is constrained only to the set of indexes specified by succeededIndexes. For example, given that succeededIndexes is \"1-4\", succeededCount is \"3\", and completed indexes are \"1\", \"3\", and \"5\", the Job isn't declared as succeeded because only \"1\" and \"3\" indexes are considered in that rules. When this field is null, this doesn't default to any value and is never evaluated at any time. When specified it needs to be a positive integer."
   }
  ]
 },
 "io.k8s.api.batch.v1.UncountedTerminatedPods": {
  "go": "v1.UncountedTerminatedPods",
  "d": "UncountedTerminatedPods holds UIDs of Pods that have terminated but haven't been accounted in Job status counters.",
  "f": [
   {
    "j": "succeeded",
    "t": "[]@io.k8s.apimachinery.pkg.types.UID",
    "o": 1,
    "p": 1,
    "lt": "set",
    "d": "succeeded holds UIDs of succeeded Pods."
   },
   {
    "j": "failed",
    "t": "[]@io.k8s.apimachinery.pkg.types.UID",
    "o": 1,
    "p": 2,
    "lt": "set",
    "d": "failed holds UIDs of failed Pods."
   }
  ]
 },
 "io.k8s.api.certificates.v1.CertificateSigningRequest": {
  "go": "v1.CertificateSigningRequest",
  "d": "CertificateSigningRequest objects provide a mechanism to obtain x509 certificates by submitting a certificate signing request, and having it asynchronously approved and issued.\n\nKubelets use this API to obtain:\n 1. client certificates to authenticate to kube-apiserver (with the \"kubernetes.io/kube-apiserver-client-kubelet\" signerName).\n 2. serving certificates for TLS endpoints kube-apiserver can connect to securely (with the \"kubernetes.io/kubelet-serving\" signerName).\n\nThis API can be used to request client certificates to authenticate to kube-apiserver (with the \"kubernetes.io/kube-apiserver-client\" signerName), or to obtain certificates from custom non-Kubernetes signers.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.certificates.v1.CertificateSigningRequestSpec",
    "p": 2,
    "req": 1,
    "d": "spec contains the certificate request, and is immutable after creation. Only the request, signerName, expirationSeconds, and usages fields can be set on creation. Other fields are derived by Kubernetes and cannot be modified by users."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.certificates.v1.CertificateSigningRequestStatus",
    "o": 1,
    "p": 3,
    "d": "status contains information about whether the request is approved or denied, and the certificate issued by the signer, or the failure condition indicating signer failure."
   }
  ]
 },
 "io.k8s.api.certificates.v1.CertificateSigningRequestCondition": {
  "go": "v1.CertificateSigningRequestCondition",
  "d": "CertificateSigningRequestCondition describes a condition of a CertificateSigningRequest object",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.certificates.v1.RequestConditionType",
    "p": 1,
    "req": 1,
    "d": "type of the condition. Known conditions are \"Approved\", \"Denied\", and \"Failed\".\n\nAn \"Approved\" condition is added via the /approval subresource, indicating the request was approved and should be issued by the signer.\n\nA \"Denied\" condition is added via the /approval subresource, indicating the request was denied and should not be issued by the signer.\n\nA \"Failed\" condition is added via the /status subresource, indicating the signer failed to issue the certificate.\n\nApproved and Denied conditions are mutually exclusive. Approved, Denied, and Failed conditions cannot be removed once added.\n\nOnly one condition of a given type is allowed."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ConditionStatus",
    "p": 6,
    "req": 1,
    "d": "status of the condition, one of True, False, Unknown. Approved, Denied, and Failed conditions may not be \"False\" or \"Unknown\"."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "reason indicates a brief reason for the request state"
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "message contains a human readable message with details about the request state"
   },
   {
    "j": "lastUpdateTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 4,
    "d": "lastUpdateTime is the time of the last update to this condition"
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 5,
    "d": "lastTransitionTime is the time the condition last transitioned from one status to another. If unset, when a new condition type is added or an existing condition's status is changed, the server defaults this to the current time."
   }
  ]
 },
 "io.k8s.api.certificates.v1.CertificateSigningRequestList": {
  "go": "v1.CertificateSigningRequestList",
  "d": "CertificateSigningRequestList is a collection of CertificateSigningRequest objects",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.certificates.v1.CertificateSigningRequest",
    "p": 2,
    "req": 1,
    "d": "items is a collection of CertificateSigningRequest objects"
   }
  ]
 },
 "io.k8s.api.certificates.v1.CertificateSigningRequestSpec": {
  "go": "v1.CertificateSigningRequestSpec",
  "d": "CertificateSigningRequestSpec contains the certificate request.",
  "f": [
   {
    "j": "request",
    "t": "bytes",
    "p": 1,
    "req": 1,
    "d": "request contains an x509 certificate signing request encoded in a \"CERTIFICATE REQUEST\" PEM block. When serialized as JSON or YAML, the data is additionally base64-encoded."
   },
   {
    "j": "signerName",
    "t": "string",
    "p": 7,
    "req": 1,
    "d": "signerName indicates the requested signer, and is a qualified name.\n\nList/watch requests for CertificateSigningRequests can filter on this field using a \"spec.signerName=NAME\" fieldSelector.\n\nWell-known Kubernetes signers are:\n 1. \"kubernetes.io/kube-apiserver-client\": issues client certificates that can be used to authenticate to kube-apiserver.\n  Requests for this signer are never auto-approved by kube-controller-manager, can be issued by the \"csrsigning\" controller in kube-controller-manager.\n 2. \"kubernetes.io/kube-apiserver-client-kubelet\": issues client certificates that kubelets use to authenticate to kube-apiserver.\n  Requests for this signer can be auto-approved by the \"csrapproving\" controller in kube-controller-manager, and can be issued by the \"csrsigning\" controller in kube-controller-manager.\n 3. \"kubernetes.io/kubelet-serving\" issues serving certificates that kubelets use to serve TLS endpoints, which kube-apiserver can connect to securely.\n  Requests for this signer are never auto-approved by kube-controller-manager, and can be issued by the \"csrsigning\" controller in kube-controller-manager.\n\nMore details are available at https://k8s.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers\n\nCustom signerNames can also be specified. The signer defines:\n 1. Trust distribution: how trust (CA bundles) are distributed.\n 2. Permitted subjects: and behavior when a disallowed subject is requested.\n 3. Required, permitted, or forbidden x509 extensions in the request (including whether subjectAltNames are allowed, which types, restrictions on allowed values) and behavior when a disallowed extension is requested.\n 4. Required, permitted, or forbidden key usages / extended key usages.\n 5. Expiration/certificate lifetime: whether it is fixed by the signer, configurable by the admin.\n 6. Whether or not requests for CA certificates are allowed."
   },
   {
    "j": "expirationSeconds",
    "t": "*int32",
    "o": 1,
    "p": 8,
    "d": "expirationSeconds is the requested duration of validity of the issued certificate. The certificate signer may issue a certificate with a different validity duration so a client must check the delta between the notBefore and and notAfter fields in the issued certificate to determine the actual duration.\n\nThe v1.22+ in-tree implementations of the well-known Kubernetes signers will honor this field as long as the requested duration is not greater than the maximum duration they will honor per the --cluster-signing-duration CLI flag to the Kubernetes controller manager.\n\nCertificate signers may not honor this field for various reasons:\n\n  1. Old signer that is unaware of the field (such as the in-tree\n     implementations prior to v1.22)\n  2. Signer whose configured maximum is shorter than the requested duration\n  3. Signer whose configured minimum is longer than the requested duration\n\nThe minimum valid value for expirationSeconds is 600, i.e. 10 minutes."
   },
   {
    "j": "usages",
    "t": "[]@io.k8s.api.certificates.v1.KeyUsage",
    "o": 1,
    "p": 5,
    "lt": "atomic",
    "d": "usages specifies a set of key usages requested in the issued certificate.\n\nRequests for TLS client certificates typically request: \"digital signature\", \"key encipherment\", \"client auth\".\n\nRequests for TLS serving certificates typically request: \"key encipherment\", \"digital signature\", \"server auth\".\n\nValid values are:\n \"signing\", \"digital signature\", \"content commitment\",\n \"key encipherment\", \"key agreement\", \"data encipherment\",\n \"cert sign\", \"crl sign\", \"encipher only\", \"decipher only\", \"any\",\n \"server auth\", \"client auth\",\n \"code signing\", \"email protection\", \"s/mime\",\n \"ipsec end system\", \"ipsec tunnel\", \"ipsec user\",\n \"timestamping\", \"ocsp signing\", \"microsoft sgc\", \"netscape sgc\""
   },
   {
    "j": "username",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "username contains the name of the user that created the CertificateSigningRequest. Populated by the API server on creation and immutable."
   },
   {
    "j": "uid",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "uid contains the uid of the user that created the CertificateSigningRequest. Populated by the API server on creation and immutable."
   },
   {
    "j": "groups",
    "t": "[]string",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "groups contains group membership of the user that created the CertificateSigningRequest. Populated by the API server on creation and immutable."
   },
   {
    "j": "extra",
    "t": "map[string]@io.k8s.api.certificates.v1.ExtraValue",
    "o": 1,
    "p": 6,
    "d": "extra contains extra attributes of the user that created the CertificateSigningRequest. Populated by the API server on creation and immutable."
   }
  ]
 },
 "io.k8s.api.certificates.v1.CertificateSigningRequestStatus": {
  "go": "v1.CertificateSigningRequestStatus",
  "d": "CertificateSigningRequestStatus contains conditions used to indicate approved/denied/failed status of the request, and the issued certificate.",
  "f": [
   {
    "j": "conditions",
    "t": "[]@io.k8s.api.certificates.v1.CertificateSigningRequestCondition",
    "o": 1,
    "p": 1,
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "conditions applied to the request. Known conditions are \"Approved\", \"Denied\", and \"Failed\"."
   },
   {
    "j": "certificate",
    "t": "bytes",
    "o": 1,
    "p": 2,
    "d": "certificate is populated with an issued certificate by the signer after an Approved condition is present. This field is set via the /status subresource. Once populated, this field is immutable.\n\nIf the certificate signing request is denied, a condition of type \"Denied\" is added and this field remains empty. If the signer cannot issue the certificate, a condition of type \"Failed\" is added and this field remains empty.\n\nValidation requirements:\n 1. certificate must contain one or more PEM blocks.\n 2. All PEM blocks must have the \"CERTIFICATE\" label, contain no headers, and the encoded data\n  must be a BER-encoded ASN.1 Certificate structure as described in section 4 of RFC5280.\n 3. Non-PEM content may appear before or after the \"CERTIFICATE\" PEM blocks and is unvalidated,\n  to allow for explanatory text as described in section 5.2 of RFC7468.\n\nIf more than one PEM block is present, and the definition of the requested spec.signerName does not indicate otherwise, the first block is the issued certificate, and subsequent blocks should be treated as intermediate certificates and presented in TLS handshakes.\n\nThe certificate is encoded in PEM format.\n\nWhen serialized as JSON or YAML, the data is additionally base64-encoded, so it consists of:\n\n    base64(\n    -----BEGIN CERTIFICATE-----\n    ...\n    -----END CERTIFICATE-----\n    )"
   }
  ]
 },
 "io.k8s.api.certificates.v1.ExtraValue": {
  "go": "v1.ExtraValue",
  "u": "[]string"
 },
 "io.k8s.api.certificates.v1.KeyUsage": {
  "go": "v1.KeyUsage",
  "u": "string"
 },
 "io.k8s.api.certificates.v1.RequestConditionType": {
  "go": "v1.RequestConditionType",
  "u": "string"
 },
 "io.k8s.api.coordination.v1.CoordinatedLeaseStrategy": {
  "go": "v1.CoordinatedLeaseStrategy",
  "u": "string"
 },
 "io.k8s.api.coordination.v1.Lease": {
  "go": "v1.Lease",
  "d": "Lease defines a lease concept.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.coordination.v1.LeaseSpec",
    "o": 1,
    "p": 2,
    "d": "spec contains the specification of the Lease. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.coordination.v1.LeaseList": {
  "go": "v1.LeaseList",
  "d": "LeaseList is a list of Lease objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.coordination.v1.Lease",
    "p": 2,
    "req": 1,
    "d": "items is a list of schema objects."
   }
  ]
 },
 "io.k8s.api.coordination.v1.LeaseSpec": {
  "go": "v1.LeaseSpec",
  "d": "LeaseSpec is a specification of a Lease.",
  "f": [
   {
    "j": "holderIdentity",
    "t": "*string",
    "o": 1,
    "p": 1,
    "d": "holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field."
   },
   {
    "j": "leaseDurationSeconds",
    "t": "*int32",
    "o": 1,
    "p": 2,
    "d": "leaseDurationSeconds is a duration that candidates for a lease need to wait to force acquire it. This is measured against the time of last observed renewTime."
   },
   {
    "j": "acquireTime",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
    "o": 1,
    "p": 3,
    "d": "acquireTime is a time when the current lease was acquired."
   },
   {
    "j": "renewTime",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
    "o": 1,
    "p": 4,
    "d": "renewTime is a time when the current holder of a lease has last updated the lease."
   },
   {
    "j": "leaseTransitions",
    "t": "*int32",
    "o": 1,
    "p": 5,
    "d": "leaseTransitions is the number of transitions of a lease between holders."
   },
   {
    "j": "strategy",
    "t": "*@io.k8s.api.coordination.v1.CoordinatedLeaseStrategy",
    "o": 1,
    "p": 6,
    "d": "strategy indicates the strategy for picking the leader for coordinated leader election. If the field is not specified, there is no active coordination for this lease. (Alpha) Using this field requires the CoordinatedLeaderElection feature gate to be enabled."
   },
   {
    "j": "preferredHolder",
    "t": "*string",
    "o": 1,
    "p": 7,
    "d": "preferredHolder signals to a lease holder that the lease has a more optimal holder and should be given up. This field can only be set if Strategy is also set."
   }
  ]
 },
 "io.k8s.api.core.v1.AWSElasticBlockStoreVolumeSource": {
  "go": "v1.AWSElasticBlockStoreVolumeSource",
  "d": "Represents a Persistent Disk resource in AWS.\n\nAn AWS EBS disk must exist before mounting to a container. The disk must also be in the same AWS zone as the kubelet. An AWS EBS disk can only be mounted as read/write once. AWS EBS volumes support ownership management and SELinux relabeling.",
  "f": [
   {
    "j": "volumeID",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "volumeID is unique ID of the persistent disk resource in AWS (Amazon EBS volume). More info: https://kubernetes.io/docs/concepts/storage/volumes#awselasticblockstore"
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "fsType is the filesystem type of the volume that you want to mount. Tip: Ensure that the filesystem type is supported by the host operating system. Examples: \"ext4\", \"xfs\", \"ntfs\". Implicitly inferred to be \"ext4\" if unspecified. More info: https://kubernetes.io/docs/concepts/storage/volumes#awselasticblockstore"
   },
   {
    "j": "partition",
    "t": "int32",
    "o": 1,
    "p": 3,
    "d": "partition is the partition in the volume that you want to mount. If omitted, the default is to mount by volume name. Examples: For volume /dev/sda1, you specify the partition as \"1\". Similarly, the volume partition for /dev/sda is \"0\" (or you can leave the property empty)."
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 4,
    "d": "readOnly value true will force the readOnly setting in VolumeMounts. More info: https://kubernetes.io/docs/concepts/storage/volumes#awselasticblockstore"
   }
  ]
 },
 "io.k8s.api.core.v1.Affinity": {
  "go": "v1.Affinity",
  "d": "Affinity is a group of affinity scheduling rules.",
  "f": [
   {
    "j": "nodeAffinity",
    "t": "*@io.k8s.api.core.v1.NodeAffinity",
    "o": 1,
    "p": 1,
    "d": "Describes node affinity scheduling rules for the pod."
   },
   {
    "j": "podAffinity",
    "t": "*@io.k8s.api.core.v1.PodAffinity",
    "o": 1,
    "p": 2,
    "d": "Describes pod affinity scheduling rules (e.g. co-locate this pod in the same node, zone, etc. as some other pod(s))."
   },
   {
    "j": "podAntiAffinity",
    "t": "*@io.k8s.api.core.v1.PodAntiAffinity",
    "o": 1,
    "p": 3,
    "d": "Describes pod anti-affinity scheduling rules (e.g. avoid putting this pod in the same node, zone, etc. as some other pod(s))."
   }
  ]
 },
 "io.k8s.api.core.v1.AppArmorProfile": {
  "go": "v1.AppArmorProfile",
  "d": "AppArmorProfile defines a pod or container's AppArmor settings.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.core.v1.AppArmorProfileType",
    "p": 1,
    "req": 1,
    "d": "type indicates which kind of AppArmor profile will be applied. Valid options are:\n  Localhost - a profile pre-loaded on the node.\n  RuntimeDefault - the container runtime's default profile.\n  Unconfined - no AppArmor enforcement."
   },
   {
    "j": "localhostProfile",
    "t": "*string",
    "o": 1,
    "p": 2,
    "d": "localhostProfile indicates a profile loaded on the node that should be used. The profile must be preconfigured on the node to work. Must match the loaded name of the profile. Must be set if and only if type is \"Localhost\"."
   }
  ]
 },
 "io.k8s.api.core.v1.AppArmorProfileType": {
  "go": "v1.AppArmorProfileType",
  "u": "string"
 },
 "io.k8s.api.core.v1.AttachedVolume": {
  "go": "v1.AttachedVolume",
  "d": "AttachedVolume describes a volume attached to a node",
  "f": [
   {
    "j": "name",
    "t": "@io.k8s.api.core.v1.UniqueVolumeName",
    "p": 1,
    "req": 1,
    "d": "Name of the attached volume"
   },
   {
    "j": "devicePath",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "DevicePath represents the device path where the volume should be available"
   }
  ]
 },
 "io.k8s.api.core.v1.AzureDataDiskCachingMode": {
  "go": "v1.AzureDataDiskCachingMode",
  "u": "string"
 },
 "io.k8s.api.core.v1.AzureDataDiskKind": {
  "go": "v1.AzureDataDiskKind",
  "u": "string"
 },
 "io.k8s.api.core.v1.AzureDiskVolumeSource": {
  "go": "v1.AzureDiskVolumeSource",
  "d": "AzureDisk represents an Azure Data Disk mount on the host and bind mount to the pod.",
  "f": [
   {
    "j": "diskName",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "diskName is the Name of the data disk in the blob storage"
   },
   {
    "j": "diskURI",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "diskURI is the URI of data disk in the blob storage"
   },
   {
    "j": "cachingMode",
    "t": "*@io.k8s.api.core.v1.AzureDataDiskCachingMode",
    "o": 1,
    "p": 3,
    "d": "cachingMode is the Host Caching mode: None, Read Only, Read Write."
   },
   {
    "j": "fsType",
    "t": "*string",
    "o": 1,
    "p": 4,
    "def": "\"ext4\"",
    "d": "fsType is Filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex. \"ext4\", \"xfs\", \"ntfs\". Implicitly inferred to be \"ext4\" if unspecified."
   },
   {
    "j": "readOnly",
    "t": "*bool",
    "o": 1,
    "p": 5,
    "def": "false",
    "d": "readOnly Defaults to false (read/write). ReadOnly here will force the ReadOnly setting in VolumeMounts."
   },
   {
    "j": "kind",
    "t": "*@io.k8s.api.core.v1.AzureDataDiskKind",
    "o": 1,
    "p": 6,
    "d": "kind expected values are Shared: multiple blob disks per storage account  Dedicated: single blob disk per storage account  Managed: azure managed data disk (only in managed availability set). defaults to shared"
   }
  ]
 },
 "io.k8s.api.core.v1.AzureFilePersistentVolumeSource": {
  "go": "v1.AzureFilePersistentVolumeSource",
  "d": "AzureFile represents an Azure File Service mount on the host and bind mount to the pod.",
  "f": [
   {
    "j": "secretName",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "secretName is the name of secret that contains Azure Storage Account Name and Key"
   },
   {
    "j": "shareName",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "shareName is the azure Share Name"
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 3,
    "d": "readOnly defaults to false (read/write). ReadOnly here will force the ReadOnly setting in VolumeMounts."
   },
   {
    "j": "secretNamespace",
    "t": "*string",
    "p": 4,
    "d": "secretNamespace is the namespace of the secret that contains Azure Storage Account Name and Key default is the same as the Pod"
   }
  ]
 },
 "io.k8s.api.core.v1.AzureFileVolumeSource": {
  "go": "v1.AzureFileVolumeSource",
  "d": "AzureFile represents an Azure File Service mount on the host and bind mount to the pod.",
  "f": [
   {
    "j": "secretName",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "secretName is the  name of secret that contains Azure Storage Account Name and Key"
   },
   {
    "j": "shareName",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "shareName is the azure share Name"
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 3,
    "d": "readOnly defaults to false (read/write). ReadOnly here will force the ReadOnly setting in VolumeMounts."
   }
  ]
 },
 "io.k8s.api.core.v1.Binding": {
  "go": "v1.Binding",
  "d": "Binding ties one object to another; for example, a pod is bound to a node by a scheduler.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "target",
    "t": "@io.k8s.api.core.v1.ObjectReference",
    "p": 2,
    "req": 1,
    "d": "The target object that you want to bind to the standard object."
   }
  ]
 },
 "io.k8s.api.core.v1.CSIPersistentVolumeSource": {
  "go": "v1.CSIPersistentVolumeSource",
  "d": "Represents storage that is managed by an external CSI volume driver",
  "f": [
   {
    "j": "driver",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "driver is the name of the driver to use for this volume. Required."
   },
   {
    "j": "volumeHandle",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "volumeHandle is the unique volume name returned by the CSI volume plugin’s CreateVolume to refer to the volume on all subsequent calls. Required."
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 3,
    "d": "readOnly value to pass to ControllerPublishVolumeRequest. Defaults to false (read/write)."
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "fsType to mount. Must be a filesystem type supported by the host operating system. Ex. \"ext4\", \"xfs\", \"ntfs\"."
   },
   {
    "j": "volumeAttributes",
    "t": "map[string]string",
    "o": 1,
    "p": 5,
    "d": "volumeAttributes of the volume to publish."
   },
   {
    "j": "controllerPublishSecretRef",
    "t": "*@io.k8s.api.core.v1.SecretReference",
    "o": 1,
    "p": 6,
    "d": "controllerPublishSecretRef is a reference to the secret object containing sensitive information to pass to the CSI driver to complete the CSI ControllerPublishVolume and ControllerUnpublishVolume calls. This field is optional, and may be empty if no secret is required. If the secret object contains more than one secret, all secrets are passed."
   },
   {
    "j": "nodeStageSecretRef",
    "t": "*@io.k8s.api.core.v1.SecretReference",
    "o": 1,
    "p": 7,
    "d": "nodeStageSecretRef is a reference to the secret object containing sensitive information to pass to the CSI driver to complete the CSI NodeStageVolume and NodeStageVolume and NodeUnstageVolume calls. This field is optional, and may be empty if no secret is required. If the secret object contains more than one secret, all secrets are passed."
   },
   {
    "j": "nodePublishSecretRef",
    "t": "*@io.k8s.api.core.v1.SecretReference",
    "o": 1,
    "p": 8,
    "d": "nodePublishSecretRef is a reference to the secret object containing sensitive information to pass to the CSI driver to complete the CSI NodePublishVolume and NodeUnpublishVolume calls. This field is optional, and may be empty if no secret is required. If the secret object contains more than one secret, all secrets are passed."
   },
   {
    "j": "controllerExpandSecretRef",
    "t": "*@io.k8s.api.core.v1.SecretReference",
    "o": 1,
    "p": 9,
    "d": "controllerExpandSecretRef is a reference to the secret object containing sensitive information to pass to the CSI driver to complete the CSI ControllerExpandVolume call. This field is optional, and may be empty if no secret is required. If the secret object contains more than one secret, all secrets are passed."
   },
   {
    "j": "nodeExpandSecretRef",
    "t": "*@io.k8s.api.core.v1.SecretReference",
    "o": 1,
    "p": 10,
    "d": "nodeExpandSecretRef is a reference to the secret object containing sensitive information to pass to the CSI driver to complete the CSI NodeExpandVolume call. This field is optional, may be omitted if no secret is required. If the secret object contains more than one secret, all secrets are passed."
   }
  ]
 },
 "io.k8s.api.core.v1.CSIVolumeSource": {
  "go": "v1.CSIVolumeSource",
  "d": "Represents a source location of a volume to mount, managed by an external CSI driver",
  "f": [
   {
    "j": "driver",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "driver is the name of the CSI driver that handles this volume. Consult with your admin for the correct name as registered in the cluster."
   },
   {
    "j": "readOnly",
    "t": "*bool",
    "o": 1,
    "p": 2,
    "d": "readOnly specifies a read-only configuration for the volume. Defaults to false (read/write)."
   },
   {
    "j": "fsType",
    "t": "*string",
    "o": 1,
    "p": 3,
    "d": "fsType to mount. Ex. \"ext4\", \"xfs\", \"ntfs\". If not provided, the empty value is passed to the associated CSI driver which will determine the default filesystem to apply."
   },
   {
    "j": "volumeAttributes",
    "t": "map[string]string",
    "o": 1,
    "p": 4,
    "d": "volumeAttributes stores driver-specific properties that are passed to the CSI driver. Consult your driver's documentation for supported values."
   },
   {
    "j": "nodePublishSecretRef",
    "t": "*@io.k8s.api.core.v1.LocalObjectReference",
    "o": 1,
    "p": 5,
    "d": "nodePublishSecretRef is a reference to the secret object containing sensitive information to pass to the CSI driver to complete the CSI NodePublishVolume and NodeUnpublishVolume calls. This field is optional, and  may be empty if no secret is required. If the secret object contains more than one secret, all secret references are passed."
   }
  ]
 },
 "io.k8s.api.core.v1.Capabilities": {
  "go": "v1.Capabilities",
  "d": "Adds and removes POSIX capabilities from running containers.",
  "f": [
   {
    "j": "add",
    "t": "[]@io.k8s.api.core.v1.Capability",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "Added capabilities"
   },
   {
    "j": "drop",
    "t": "[]@io.k8s.api.core.v1.Capability",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "Removed capabilities"
   }
  ]
 },
 "io.k8s.api.core.v1.Capability": {
  "go": "v1.Capability",
  "u": "string"
 },
 "io.k8s.api.core.v1.CephFSPersistentVolumeSource": {
  "go": "v1.CephFSPersistentVolumeSource",
  "d": "Represents a Ceph Filesystem mount that lasts the lifetime of a pod Cephfs volumes do not support ownership management or SELinux relabeling.",
  "f": [
   {
    "j": "monitors",
    "t": "[]string",
    "p": 1,
    "lt": "atomic",
    "req": 1,
    "d": "monitors is Required: Monitors is a collection of Ceph monitors More info: https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it"
   },
   {
    "j": "path",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "path is Optional: Used as the mounted root, rather than the full Ceph tree, default is /"
   },
   {
    "j": "user",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "user is Optional: User is the rados user name, default is admin More info: https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it"
   },
   {
    "j": "secretFile",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "secretFile is Optional: SecretFile is the path to key ring for User, default is /etc/ceph/user.secret More info: https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it"
   },
   {
    "j": "secretRef",
    "t": "*@io.k8s.api.core.v1.SecretReference",
    "o": 1,
    "p": 5,
    "d": "secretRef is Optional: SecretRef is reference to the authentication secret for User, default is empty. More info: https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it"
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 6,
    "d": "readOnly is Optional: Defaults to false (read/write). ReadOnly here will force the ReadOnly setting in VolumeMounts. More info: https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it"
   }
  ]
 },
 "io.k8s.api.core.v1.CephFSVolumeSource": {
  "go": "v1.CephFSVolumeSource",
  "d": "Represents a Ceph Filesystem mount that lasts the lifetime of a pod Cephfs volumes do not support ownership management or SELinux relabeling.",
  "f": [
   {
    "j": "monitors",
    "t": "[]string",
    "p": 1,
    "lt": "atomic",
    "req": 1,
    "d": "monitors is Required: Monitors is a collection of Ceph monitors More info: https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it"
   },
   {
    "j": "path",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "path is Optional: Used as the mounted root, rather than the full Ceph tree, default is /"
   },
   {
    "j": "user",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "user is optional: User is the rados user name, default is admin More info: https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it"
   },
   {
    "j": "secretFile",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "secretFile is Optional: SecretFile is the path to key ring for User, default is /etc/ceph/user.secret More info: https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it"
   },
   {
    "j": "secretRef",
    "t": "*@io.k8s.api.core.v1.LocalObjectReference",
    "o": 1,
    "p": 5,
    "d": "secretRef is Optional: SecretRef is reference to the authentication secret for User, default is empty. More info: https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it"
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 6,
    "d": "readOnly is Optional: Defaults to false (read/write). ReadOnly here will force the ReadOnly setting in VolumeMounts. More info: https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it"
   }
  ]
 },
 "io.k8s.api.core.v1.CinderPersistentVolumeSource": {
  "go": "v1.CinderPersistentVolumeSource",
  "d": "Represents a cinder volume resource in Openstack. A Cinder volume must exist before mounting to a container. The volume must also be in the same region as the kubelet. Cinder volumes support ownership management and SELinux relabeling.",
  "f": [
   {
    "j": "volumeID",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "volumeID used to identify the volume in cinder. More info: https://examples.k8s.io/mysql-cinder-pd/README.md"
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "fsType Filesystem type to mount. Must be a filesystem type supported by the host operating system. Examples: \"ext4\", \"xfs\", \"ntfs\". Implicitly inferred to be \"ext4\" if unspecified. More info: https://examples.k8s.io/mysql-cinder-pd/README.md"
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 3,
    "d": "readOnly is Optional: Defaults to false (read/write). ReadOnly here will force the ReadOnly setting in VolumeMounts. More info: https://examples.k8s.io/mysql-cinder-pd/README.md"
   },
   {
    "j": "secretRef",
    "t": "*@io.k8s.api.core.v1.SecretReference",
    "o": 1,
    "p": 4,
    "d": "secretRef is Optional: points to a secret object containing parameters used to connect to OpenStack."
   }
  ]
 },
 "io.k8s.api.core.v1.CinderVolumeSource": {
  "go": "v1.CinderVolumeSource",
  "d": "Represents a cinder volume resource in Openstack. A Cinder volume must exist before mounting to a container. The volume must also be in the same region as the kubelet. Cinder volumes support ownership management and SELinux relabeling.",
  "f": [
   {
    "j": "volumeID",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "volumeID used to identify the volume in cinder. More info: https://examples.k8s.io/mysql-cinder-pd/README.md"
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "fsType is the filesystem type to mount. Must be a filesystem type supported by the host operating system. Examples: \"ext4\", \"xfs\", \"ntfs\". Implicitly inferred to be \"ext4\" if unspecified. More info: https://examples.k8s.io/mysql-cinder-pd/README.md"
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 3,
    "d": "readOnly defaults to false (read/write). ReadOnly here will force the ReadOnly setting in VolumeMounts. More info: https://examples.k8s.io/mysql-cinder-pd/README.md"
   },
   {
    "j": "secretRef",
    "t": "*@io.k8s.api.core.v1.LocalObjectReference",
    "o": 1,
    "p": 4,
    "d": "secretRef is optional: points to a secret object containing parameters used to connect to OpenStack."
   }
  ]
 },
 "io.k8s.api.core.v1.ClaimResourceStatus": {
  "go": "v1.ClaimResourceStatus",
  "u": "string"
 },
 "io.k8s.api.core.v1.ClientIPConfig": {
  "go": "v1.ClientIPConfig",
  "d": "ClientIPConfig represents the configurations of Client IP based session affinity.",
  "f": [
   {
    "j": "timeoutSeconds",
    "t": "*int32",
    "o": 1,
    "p": 1,
    "d": "timeoutSeconds specifies the seconds of ClientIP type session sticky time. The value must be >0 && <=86400(for 1 day) if ServiceAffinity == \"ClientIP\". Default value is 10800(for 3 hours)."
   }
  ]
 },
 "io.k8s.api.core.v1.ClusterTrustBundleProjection": {
  "go": "v1.ClusterTrustBundleProjection",
  "d": "ClusterTrustBundleProjection describes how to select a set of ClusterTrustBundle objects and project their contents into the pod filesystem.",
  "f": [
   {
    "j": "name",
    "t": "*string",
    "o": 1,
    "p": 1,
    "d": "Select a single ClusterTrustBundle by object name.  Mutually-exclusive with signerName and labelSelector."
   },
   {
    "j": "signerName",
    "t": "*string",
    "o": 1,
    "p": 2,
    "d": "Select all ClusterTrustBundles that match this signer name. Mutually-exclusive with name.  The contents of all selected ClusterTrustBundles will be unified and deduplicated."
   },
   {
    "j": "labelSelector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 3,
    "d": "Select all ClusterTrustBundles that match this label selector.  Only has effect if signerName is set.  Mutually-exclusive with name.  If unset, interpreted as \"match nothing\".  If set but empty, interpreted as \"match everything\"."
   },
   {
    "j": "optional",
    "t": "*bool",
    "o": 1,
    "p": 5,
    "d": "If true, don't block pod startup if the referenced ClusterTrustBundle(s) aren't available.  If using name, then the named ClusterTrustBundle is allowed not to exist.  If using signerName, then the combination of signerName and labelSelector is allowed to match zero ClusterTrustBundles."
   },
   {
    "j": "path",
    "t": "string",
    "p": 4,
    "req": 1,
    "d": "Relative path from the volume root to write the bundle."
   },
   {
    "j": "user",
    "t": "*int64",
    "o": 1,
    "p": 6,
    "d": "user is Optional: The owner UID of the created file. If specified, the item-level user field takes precedence over defaultUser. (Alpha) This field requires the AtomicWriteVolumeUserFields feature gate to be enabled."
   }
  ]
 },
 "io.k8s.api.core.v1.ComponentCondition": {
  "go": "v1.ComponentCondition",
  "d": "Information about the condition of a component.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.core.v1.ComponentConditionType",
    "p": 1,
    "req": 1,
    "d": "Type of condition for a component. Valid value: \"Healthy\""
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ConditionStatus",
    "p": 2,
    "req": 1,
    "d": "Status of the condition for a component. Valid values for \"Healthy\": \"True\", \"False\", or \"Unknown\"."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "Message about the condition for a component. For example, information about a health check."
   },
   {
    "j": "error",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "Condition error code for a component. For example, a health check error code."
   }
  ]
 },
 "io.k8s.api.core.v1.ComponentConditionType": {
  "go": "v1.ComponentConditionType",
  "u": "string"
 },
 "io.k8s.api.core.v1.ComponentStatus": {
  "go": "v1.ComponentStatus",
  "d": "ComponentStatus (and ComponentStatusList) holds the cluster validation info. Deprecated: This API is deprecated in v1.19+",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "conditions",
    "t": "[]@io.k8s.api.core.v1.ComponentCondition",
    "o": 1,
    "p": 2,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "List of component conditions observed"
   }
  ]
 },
 "io.k8s.api.core.v1.ComponentStatusList": {
  "go": "v1.ComponentStatusList",
  "d": "Status of all the conditions for the component as a list of ComponentStatus objects. Deprecated: This API is deprecated in v1.19+",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.ComponentStatus",
    "p": 2,
    "req": 1,
    "d": "List of ComponentStatus objects."
   }
  ]
 },
 "io.k8s.api.core.v1.ConditionStatus": {
  "go": "v1.ConditionStatus",
  "u": "string"
 },
 "io.k8s.api.core.v1.ConfigMap": {
  "go": "v1.ConfigMap",
  "d": "ConfigMap holds configuration data for pods to consume.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "immutable",
    "t": "*bool",
    "o": 1,
    "p": 4,
    "d": "Immutable, if set to true, ensures that data stored in the ConfigMap cannot be updated (only object metadata can be modified). If not set to true, the field can be modified at any time. Defaulted to nil."
   },
   {
    "j": "data",
    "t": "map[string]string",
    "o": 1,
    "p": 2,
    "d": "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, this is enforced during validation process."
   },
   {
    "j": "binaryData",
    "t": "map[string]bytes",
    "o": 1,
    "p": 3,
    "d": "BinaryData contains the binary data. Each key must consist of alphanumeric characters, '-', '_' or '.'. BinaryData can contain byte sequences that are not in the UTF-8 range. The keys stored in BinaryData must not overlap with the ones in the Data field, this is enforced during validation process. Using this field will require 1.10+ apiserver and kubelet. Note: BinaryData keys are not currently propagated to container env vars via ConfigMapKeyRef or ConfigMapRef env sources; only Data keys are used."
   }
  ]
 },
 "io.k8s.api.core.v1.ConfigMapEnvSource": {
  "go": "v1.ConfigMapEnvSource",
  "d": "ConfigMapEnvSource selects a ConfigMap to populate the environment variables with.\n\nThe contents of the target ConfigMap's Data field will represent the key-value pairs as environment variables. Keys in the BinaryData field are not currently propagated to container env vars.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.api.core.v1.LocalObjectReference",
    "p": 1,
    "req": 1,
    "d": "The ConfigMap to select from."
   },
   {
    "j": "optional",
    "t": "*bool",
    "o": 1,
    "p": 2,
    "d": "Specify whether the ConfigMap must be defined"
   }
  ]
 },
 "io.k8s.api.core.v1.ConfigMapKeySelector": {
  "go": "v1.ConfigMapKeySelector",
  "d": "Selects a key from a ConfigMap.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.api.core.v1.LocalObjectReference",
    "p": 1,
    "req": 1,
    "d": "The ConfigMap to select from."
   },
   {
    "j": "key",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "The key to select from the ConfigMap's Data field. Keys in the BinaryData field are not currently propagated to container env vars."
   },
   {
    "j": "optional",
    "t": "*bool",
    "o": 1,
    "p": 3,
    "d": "Specify whether the ConfigMap or its key must be defined"
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.core.v1.ConfigMapList": {
  "go": "v1.ConfigMapList",
  "d": "ConfigMapList is a resource containing a list of ConfigMap objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.ConfigMap",
    "p": 2,
    "req": 1,
    "d": "Items is the list of ConfigMaps."
   }
  ]
 },
 "io.k8s.api.core.v1.ConfigMapNodeConfigSource": {
  "go": "v1.ConfigMapNodeConfigSource",
  "d": "ConfigMapNodeConfigSource contains the information to reference a ConfigMap as a config source for the Node. This API is deprecated since 1.22: https://git.k8s.io/enhancements/keps/sig-node/281-dynamic-kubelet-configuration",
  "f": [
   {
    "j": "namespace",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Namespace is the metadata.namespace of the referenced ConfigMap. This field is required in all cases."
   },
   {
    "j": "name",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "Name is the metadata.name of the referenced ConfigMap. This field is required in all cases."
   },
   {
    "j": "uid",
    "t": "@io.k8s.apimachinery.pkg.types.UID",
    "o": 1,
    "p": 3,
    "d": "UID is the metadata.UID of the referenced ConfigMap. This field is forbidden in Node.Spec, and required in Node.Status."
   },
   {
    "j": "resourceVersion",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "ResourceVersion is the metadata.ResourceVersion of the referenced ConfigMap. This field is forbidden in Node.Spec, and required in Node.Status."
   },
   {
    "j": "kubeletConfigKey",
    "t": "string",
    "p": 5,
    "req": 1,
    "d": "KubeletConfigKey declares which key of the referenced ConfigMap corresponds to the KubeletConfiguration structure This field is required in all cases."
   }
  ]
 },
 "io.k8s.api.core.v1.ConfigMapProjection": {
  "go": "v1.ConfigMapProjection",
  "d": "Adapts a ConfigMap into a projected volume.\n\nThe contents of the target ConfigMap's Data field will be presented in a projected volume as files using the keys in the Data field as the file names, unless the items element is populated with specific mappings of keys to paths. Note that this is identical to a configmap volume source without the default mode.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.api.core.v1.LocalObjectReference",
    "p": 1,
    "req": 1
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.KeyToPath",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "items if unspecified, each key-value pair in the Data field of the referenced ConfigMap will be projected into the volume as a file whose name is the key and content is the value. If specified, the listed keys will be projected into the specified paths, and unlisted keys will not be present. If a key is specified which is not present in the ConfigMap, the volume setup will error unless it is marked optional. Paths must be relative and may not contain the '..' path or start with '..'."
   },
   {
    "j": "optional",
    "t": "*bool",
    "o": 1,
    "p": 4,
    "d": "optional specify whether the ConfigMap or its keys must be defined"
   }
  ]
 },
 "io.k8s.api.core.v1.ConfigMapVolumeSource": {
  "go": "v1.ConfigMapVolumeSource",
  "d": "Adapts a ConfigMap into a volume.\n\nThe contents of the target ConfigMap's Data field will be presented in a volume as files using the keys in the Data field as the file names, unless the items element is populated with specific mappings of keys to paths. ConfigMap volumes support ownership management and SELinux relabeling.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.api.core.v1.LocalObjectReference",
    "p": 1,
    "req": 1
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.KeyToPath",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "items if unspecified, each key-value pair in the Data field of the referenced ConfigMap will be projected into the volume as a file whose name is the key and content is the value. If specified, the listed keys will be projected into the specified paths, and unlisted keys will not be present. If a key is specified which is not present in the ConfigMap, the volume setup will error unless it is marked optional. Paths must be relative and may not contain the '..' path or start with '..'."
   },
   {
    "j": "defaultMode",
    "t": "*int32",
    "o": 1,
    "p": 3,
    "d": "defaultMode is optional: mode bits used to set permissions on created files by default. Must be an octal value between 0000 and 0777 or a decimal value between 0 and 511. YAML accepts both octal and decimal values, JSON requires decimal values for mode bits. Defaults to 0644. Directories within the path are not affected by this setting. This might be in conflict with other options that affect the file mode, like fsGroup, and the result can be other mode bits set."
   },
   {
    "j": "optional",
    "t": "*bool",
    "o": 1,
    "p": 4,
    "d": "optional specify whether the ConfigMap or its keys must be defined"
   },
   {
    "j": "defaultUser",
    "t": "*int64",
    "o": 1,
    "p": 5,
    "d": "defaultUser is Optional: The owner UID of the created files by default. The defaultUser field is only used as a fallback when the item-level user field is unset. (Alpha) This field requires the AtomicWriteVolumeUserFields feature gate to be enabled."
   }
  ]
 },
 "io.k8s.api.core.v1.Container": {
  "go": "v1.Container",
  "d": "A single application container that you want to run within a pod.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Name of the container specified as a DNS_LABEL. Each container in a pod must have a unique name (DNS_LABEL). Cannot be updated."
   },
   {
    "j": "image",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "Container image name. More info: https://kubernetes.io/docs/concepts/containers/images This field is optional to allow higher level config management to default or override container images in workload controllers like Deployments and StatefulSets."
   },
   {
    "j": "command",
    "t": "[]string",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "Entrypoint array. Not executed within a shell. The container image's ENTRYPOINT is used if this is not provided. Variable references $(VAR_NAME) are expanded using the container's environment. If a variable cannot be resolved, the reference in the input string will be unchanged. Double $$ are reduced to a single $, which allows for escaping the $(VAR_NAME) syntax: i.e. \"$$(VAR_NAME)\" will produce the string literal \"$(VAR_NAME)\". Escaped references will never be expanded, regardless of whether the variable exists or not. Cannot be updated. More info: https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/#running-a-command-in-a-shell"
   },
   {
    "j": "args",
    "t": "[]string",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "Arguments to the entrypoint. The container image's CMD is used if this is not provided. Variable references $(VAR_NAME) are expanded using the container's environment. If a variable cannot be resolved, the reference in the input string will be unchanged. Double $$ are reduced to a single $, which allows for escaping the $(VAR_NAME) syntax: i.e. \"$$(VAR_NAME)\" will produce the string literal \"$(VAR_NAME)\". Escaped references will never be expanded, regardless of whether the variable exists or not. Cannot be updated. More info: https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/#running-a-command-in-a-shell"
   },
   {
    "j": "workingDir",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "Container's working directory. If not specified, the container runtime's default will be used, which might be configured in the container image. Cannot be updated."
   },
   {
    "j": "ports",
    "t": "[]@io.k8s.api.core.v1.ContainerPort",
    "o": 1,
    "p": 6,
    "ps": "merge",
    "pk": "containerPort",
    "lt": "map",
    "lk": [
     "containerPort",
     "protocol"
    ],
    "d": "List of ports to expose from the container. Not specifying a port here DOES NOT prevent that port from being exposed. Any port which is listening on the default \"0.0.0.0\" address inside a container will be accessible from the network. Modifying this array with strategic merge patch may corrupt the data. For more information See https://github.com/kubernetes/kubernetes/issues/108255. Cannot be updated."
   },
   {
    "j": "envFrom",
    "t": "[]@io.k8s.api.core.v1.EnvFromSource",
    "o": 1,
    "p": 19,
    "lt": "atomic",
    "d": "List of sources to populate environment variables in the container. The keys defined within a source may consist of any printable ASCII characters except '='. When a key exists in multiple sources, the value associated with the last source will take precedence. Values defined by an Env with a duplicate key will take precedence. Cannot be updated."
   },
   {
    "j": "env",
    "t": "[]@io.k8s.api.core.v1.EnvVar",
    "o": 1,
    "p": 7,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "List of environment variables to set in the container. Cannot be updated."
   },
   {
    "j": "resources",
    "t": "@io.k8s.api.core.v1.ResourceRequirements",
    "o": 1,
    "p": 8,
    "d": "Compute Resources required by this container. Cannot be updated. More info: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"
   },
   {
    "j": "resizePolicy",
    "t": "[]@io.k8s.api.core.v1.ContainerResizePolicy",
    "o": 1,
    "p": 23,
    "lt": "atomic",
    "d": "Resources resize policy for the container. This field cannot be set on ephemeral containers."
   },
   {
    "j": "restartPolicy",
    "t": "*@io.k8s.api.core.v1.ContainerRestartPolicy",
    "o": 1,
    "p": 24,
    "d": "RestartPolicy defines the restart behavior of individual containers in a pod. This overrides the pod-level restart policy. When this field is not specified, the restart behavior is defined by the Pod's restart policy and the container type. Additionally, setting the RestartPolicy as \"Always\" for the init container will have the following effect: this init container will be continually restarted on exit until all regular containers have terminated. Once all regular containers have completed, all init containers with restartPolicy \"Always\" will be shut down. This lifecycle differs from normal init containers and is often referred to as a \"sidecar\" container. Although this init container still starts in the init container sequence, it does not wait for the container to complete before proceeding to the next init container. Instead, the next init container starts immediately after this init container is started, or after any startupProbe has successfully completed."
   },
   {
    "j": "restartPolicyRules",
    "t": "[]@io.k8s.api.core.v1.ContainerRestartRule",
    "o": 1,
    "p": 25,
    "lt": "atomic",
    "d": "Represents a list of rules to be checked to determine if the container should be restarted on exit. The rules are evaluated in order. Once a rule matches a container exit condition, the remaining rules are ignored. If no rule matches the container exit condition, the Container-level restart policy determines the whether the container is restarted or not. Constraints on the rules: - At most 20 rules are allowed. - Rules can have the same action. - Identical rules are not forbidden in validations. When rules are specified, container MUST set RestartPolicy explicitly even it if matches the Pod's RestartPolicy."
   },
   {
    "j": "volumeMounts",
    "t": "[]@io.k8s.api.core.v1.VolumeMount",
    "o": 1,
    "p": 9,
    "ps": "merge",
    "pk": "mountPath",
    "lt": "map",
    "lk": [
     "mountPath"
    ],
    "d": "Pod volumes to mount into the container's filesystem. Cannot be updated."
   },
   {
    "j": "volumeDevices",
    "t": "[]@io.k8s.api.core.v1.VolumeDevice",
    "o": 1,
    "p": 21,
    "ps": "merge",
    "pk": "devicePath",
    "lt": "map",
    "lk": [
     "devicePath"
    ],
    "d": "volumeDevices is the list of block devices to be used by the container."
   },
   {
    "j": "livenessProbe",
    "t": "*@io.k8s.api.core.v1.Probe",
    "o": 1,
    "p": 10,
    "d": "Periodic probe of container liveness. Container will be restarted if the probe fails. Cannot be updated. More info: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle#container-probes"
   },
   {
    "j": "readinessProbe",
    "t": "*@io.k8s.api.core.v1.Probe",
    "o": 1,
    "p": 11,
    "d": "Periodic probe of container service readiness. Container will be removed from service endpoints if the probe fails. Cannot be updated. More info: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle#container-probes"
   },
   {
    "j": "startupProbe",
    "t": "*@io.k8s.api.core.v1.Probe",
    "o": 1,
    "p": 22,
    "d": "StartupProbe indicates that the Pod has successfully initialized. If specified, no other probes are executed until this completes successfully. If this probe fails, the Pod will be restarted, just as if the livenessProbe failed. This can be used to provide different probe parameters at the beginning of a Pod's lifecycle, when it might take a long time to load data or warm a cache, than during steady-state operation. This cannot be updated. More info: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle#container-probes"
   },
   {
    "j": "lifecycle",
    "t": "*@io.k8s.api.core.v1.Lifecycle",
    "o": 1,
    "p": 12,
    "d": "Actions that the management system should take in response to container lifecycle events. Cannot be updated."
   },
   {
    "j": "terminationMessagePath",
    "t": "string",
    "o": 1,
    "p": 13,
    "d": "Optional: Path at which the file to which the container's termination message will be written is mounted into the container's filesystem. Message written is intended to be brief final status, such as an assertion failure message. Will be truncated by the node if greater than 4096 bytes. The total message length across all containers will be limited to 12kb. Defaults to /dev/termination-log. Cannot be updated."
   },
   {
    "j": "terminationMessagePolicy",
    "t": "@io.k8s.api.core.v1.TerminationMessagePolicy",
    "o": 1,
    "p": 20,
    "d": "Indicate how the termination message should be populated. File will use the contents of terminationMessagePath to populate the container status message on both success and failure. FallbackToLogsOnError will use the last chunk of container log output if the termination message file is empty and the container exited with an error. The log output is limited to 2048 bytes or 80 lines, whichever is smaller. Defaults to File. Cannot be updated."
   },
   {
    "j": "imagePullPolicy",
    "t": "@io.k8s.api.core.v1.PullPolicy",
    "o": 1,
    "p": 14,
    "d": "Image pull policy. One of Always, Never, IfNotPresent. Defaults to Always if :latest tag is specified, or IfNotPresent otherwise. Cannot be updated. More info: https://kubernetes.io/docs/concepts/containers/images#updating-images"
   },
   {
    "j": "securityContext",
    "t": "*@io.k8s.api.core.v1.SecurityContext",
    "o": 1,
    "p": 15,
    "d": "SecurityContext defines the security options the container should be run with. If set, the fields of SecurityContext override the equivalent fields of PodSecurityContext. More info: https://kubernetes.io/docs/tasks/configure-pod-container/security-context/"
   },
   {
    "j": "stdin",
    "t": "bool",
    "o": 1,
    "p": 16,
    "d": "Whether this container should allocate a buffer for stdin in the container runtime. If this is not set, reads from stdin in the container will always result in EOF. Default is false."
   },
   {
    "j": "stdinOnce",
    "t": "bool",
    "o": 1,
    "p": 17,
    "d": "Whether the container runtime should close the stdin channel after it has been opened by a single attach. When stdin is true the stdin stream will remain open across multiple attach sessions. If stdinOnce is set to true, stdin is opened on container start, is empty until the first client attaches to stdin, and then remains open and accepts data until the client disconnects, at which time stdin is closed and remains closed until the container is restarted. If this flag is false, a container processes that reads from stdin will never receive an EOF. Default is false"
   },
   {
    "j": "tty",
    "t": "bool",
    "o": 1,
    "p": 18,
    "d": "Whether this container should allocate a TTY for itself, also requires 'stdin' to be true. Default is false."
   }
  ]
 },
 "io.k8s.api.core.v1.ContainerExtendedResourceRequest": {
  "go": "v1.ContainerExtendedResourceRequest",
  "d": "ContainerExtendedResourceRequest has the mapping of container name, extended resource name to the device request name.",
  "f": [
   {
    "j": "containerName",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "The name of the container requesting resources."
   },
   {
    "j": "resourceName",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "The name of the extended resource in that container which gets backed by DRA."
   },
   {
    "j": "requestName",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "The name of the request in the special ResourceClaim which corresponds to the extended resource."
   }
  ]
 },
 "io.k8s.api.core.v1.ContainerImage": {
  "go": "v1.ContainerImage",
  "d": "Describe a container image",
  "f": [
   {
    "j": "names",
    "t": "[]string",
    "p": 1,
    "lt": "atomic",
    "d": "Names by which this image is known. e.g. [\"kubernetes.example/hyperkube:v1.0.7\", \"cloud-vendor.registry.example/cloud-vendor/hyperkube:v1.0.7\"]"
   },
   {
    "j": "sizeBytes",
    "t": "int64",
    "o": 1,
    "p": 2,
    "d": "The size of the image in bytes."
   }
  ]
 },
 "io.k8s.api.core.v1.ContainerPort": {
  "go": "v1.ContainerPort",
  "d": "ContainerPort represents a network port in a single container.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "If specified, this must be an IANA_SVC_NAME and unique within the pod. Each named port in a pod must have a unique name. Name for the port that can be referred to by services."
   },
   {
    "j": "hostPort",
    "t": "int32",
    "o": 1,
    "p": 2,
    "d": "Number of port to expose on the host. If specified, this must be a valid port number, 0 < x < 65536. If HostNetwork is specified, this must match ContainerPort. Most containers do not need this."
   },
   {
    "j": "containerPort",
    "t": "int32",
    "p": 3,
    "req": 1,
    "d": "Number of port to expose on the pod's IP address. This must be a valid port number, 0 < x < 65536."
   },
   {
    "j": "protocol",
    "t": "@io.k8s.api.core.v1.Protocol",
    "o": 1,
    "p": 4,
    "def": "\"TCP\"",
    "d": "Protocol for port. Must be UDP, TCP, or SCTP. Defaults to \"TCP\"."
   },
   {
    "j": "hostIP",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "What host IP to bind the external port to."
   }
  ]
 },
 "io.k8s.api.core.v1.ContainerResizePolicy": {
  "go": "v1.ContainerResizePolicy",
  "d": "ContainerResizePolicy represents resource resize policy for the container.",
  "f": [
   {
    "j": "resourceName",
    "t": "@io.k8s.api.core.v1.ResourceName",
    "p": 1,
    "req": 1,
    "d": "Name of the resource to which this resource resize policy applies. Supported values: cpu, memory."
   },
   {
    "j": "restartPolicy",
    "t": "@io.k8s.api.core.v1.ResourceResizeRestartPolicy",
    "p": 2,
    "req": 1,
    "d": "Restart policy to apply when specified resource is resized. If not specified, it defaults to NotRequired."
   }
  ]
 },
 "io.k8s.api.core.v1.ContainerRestartPolicy": {
  "go": "v1.ContainerRestartPolicy",
  "u": "string"
 },
 "io.k8s.api.core.v1.ContainerRestartRule": {
  "go": "v1.ContainerRestartRule",
  "d": "ContainerRestartRule describes how a container exit is handled.",
  "f": [
   {
    "j": "action",
    "t": "@io.k8s.api.core.v1.ContainerRestartRuleAction",
    "o": 1,
    "p": 1,
    "req": 1,
    "d": "Specifies the action taken on a container exit if the requirements are satisfied. The only possible value is \"Restart\" to restart the container."
   },
   {
    "j": "exitCodes",
    "t": "*@io.k8s.api.core.v1.ContainerRestartRuleOnExitCodes",
    "o": 1,
    "p": 2,
    "d": "Represents the exit codes to check on container exits."
   }
  ]
 },
 "io.k8s.api.core.v1.ContainerRestartRuleAction": {
  "go": "v1.ContainerRestartRuleAction",
  "u": "string"
 },
 "io.k8s.api.core.v1.ContainerRestartRuleOnExitCodes": {
  "go": "v1.ContainerRestartRuleOnExitCodes",
  "d": "ContainerRestartRuleOnExitCodes describes the condition for handling an exited container based on its exit codes.",
  "f": [
   {
    "j": "operator",
    "t": "@io.k8s.api.core.v1.ContainerRestartRuleOnExitCodesOperator",
    "o": 1,
    "p": 1,
    "req": 1,
    "d": "Represents the relationship between the container exit code(s) and the specified values. Possible values are: - In: the requirement is satisfied if the container exit code is in the\n  set of specified values.\n- NotIn: the requirement is satisfied if the container exit code is\n  not in the set of specified values."
   },
   {
    "j": "values",
    "t": "[]int32",
    "o": 1,
    "p": 2,
    "lt": "set",
    "d": "Specifies the set of values to check for container exit codes. At most 255 elements are allowed."
   }
  ]
 },
 "io.k8s.api.core.v1.ContainerRestartRuleOnExitCodesOperator": {
  "go": "v1.ContainerRestartRuleOnExitCodesOperator",
  "u": "string"
 },
 "io.k8s.api.core.v1.ContainerState": {
  "go": "v1.ContainerState",
  "d": "ContainerState holds a possible state of container. Only one of its members may be specified. If none of them is specified, the default one is ContainerStateWaiting.",
  "f": [
   {
    "j": "waiting",
    "t": "*@io.k8s.api.core.v1.ContainerStateWaiting",
    "o": 1,
    "p": 1,
    "d": "Details about a waiting container"
   },
   {
    "j": "running",
    "t": "*@io.k8s.api.core.v1.ContainerStateRunning",
    "o": 1,
    "p": 2,
    "d": "Details about a running container"
   },
   {
    "j": "terminated",
    "t": "*@io.k8s.api.core.v1.ContainerStateTerminated",
    "o": 1,
    "p": 3,
    "d": "Details about a terminated container"
   }
  ]
 },
 "io.k8s.api.core.v1.ContainerStateRunning": {
  "go": "v1.ContainerStateRunning",
  "d": "ContainerStateRunning is a running state of a container.",
  "f": [
   {
    "j": "startedAt",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 1,
    "d": "Time at which the container was last (re-)started"
   }
  ]
 },
 "io.k8s.api.core.v1.ContainerStateTerminated": {
  "go": "v1.ContainerStateTerminated",
  "d": "ContainerStateTerminated is a terminated state of a container.",
  "f": [
   {
    "j": "exitCode",
    "t": "int32",
    "p": 1,
    "req": 1,
    "d": "Exit status from the last termination of the container"
   },
   {
    "j": "signal",
    "t": "int32",
    "o": 1,
    "p": 2,
    "d": "Signal from the last termination of the container"
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "(brief) reason from the last termination of the container"
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "Message regarding the last termination of the container"
   },
   {
    "j": "startedAt",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 5,
    "d": "Time at which previous execution of the container started"
   },
   {
    "j": "finishedAt",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 6,
    "d": "Time at which the container last terminated"
   },
   {
    "j": "containerID",
    "t": "string",
    "o": 1,
    "p": 7,
    "d": "Container's ID in the format '<type>://<container_id>'"
   }
  ]
 },
 "io.k8s.api.core.v1.ContainerStateWaiting": {
  "go": "v1.ContainerStateWaiting",
  "d": "ContainerStateWaiting is a waiting state of a container.",
  "f": [
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "(brief) reason the container is not yet running."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "Message regarding why the container is not yet running."
   }
  ]
 },
 "io.k8s.api.core.v1.ContainerStatus": {
  "go": "v1.ContainerStatus",
  "d": "ContainerStatus contains details for the current status of this container.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Name is a DNS_LABEL representing the unique name of the container. Each container in a pod must have a unique name across all container types. Cannot be updated."
   },
   {
    "j": "state",
    "t": "@io.k8s.api.core.v1.ContainerState",
    "o": 1,
    "p": 2,
    "d": "State holds details about the container's current condition."
   },
   {
    "j": "lastState",
    "t": "@io.k8s.api.core.v1.ContainerState",
    "o": 1,
    "p": 3,
    "d": "LastTerminationState holds the last termination state of the container to help debug container crashes and restarts. This field is not populated if the container is still running and RestartCount is 0."
   },
   {
    "j": "ready",
    "t": "bool",
    "p": 4,
    "req": 1,
    "d": "Ready specifies whether the container is currently passing its readiness check. The value will change as readiness probes keep executing. If no readiness probes are specified, this field defaults to true once the container is fully started (see Started field).\n\nThe value is typically used to determine whether a container is ready to accept traffic."
   },
   {
    "j": "restartCount",
    "t": "int32",
    "p": 5,
    "req": 1,
    "d": "RestartCount holds the number of times the container has been restarted. Kubelet makes an effort to always increment the value, but there are cases when the state may be lost due to node restarts and then the value may be reset to 0. The value is never negative."
   },
   {
    "j": "image",
    "t": "string",
    "p": 6,
    "req": 1,
    "d": "Image is the name of container image that the container is running. The container image may not match the image used in the PodSpec, as it may have been resolved by the runtime. More info: https://kubernetes.io/docs/concepts/containers/images."
   },
   {
    "j": "imageID",
    "t": "string",
    "p": 7,
    "req": 1,
    "d": "ImageID is the image ID of the container's image. The image ID may not match the image ID of the image used in the PodSpec, as it may have been resolved by the runtime."
   },
   {
    "j": "containerID",
    "t": "string",
    "o": 1,
    "p": 8,
    "d": "ContainerID is the ID of the container in the format '<type>://<container_id>'. Where type is a container runtime identifier, returned from Version call of CRI API (for example \"containerd\")."
   },
   {
    "j": "started",
    "t": "*bool",
    "o": 1,
    "p": 9,
    "d": "Started indicates whether the container has finished its postStart lifecycle hook and passed its startup probe. Initialized as false, becomes true after startupProbe is considered successful. Resets to false when the container is restarted, or if kubelet loses state temporarily. In both cases, startup probes will run again. Is always true when no startupProbe is defined and container is running and has passed the postStart lifecycle hook. The null value must be treated the same as false."
   },
   {
    "j": "allocatedResources",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 10,
    "d": "AllocatedResources represents the compute resources allocated for this container by the node. Kubelet sets this value to Container.Resources.Requests upon successful pod admission and after successfully admitting desired pod resize."
   },
   {
    "j": "resources",
    "t": "*@io.k8s.api.core.v1.ResourceRequirements",
    "o": 1,
    "p": 11,
    "d": "Resources represents the compute resource requests and limits that have been successfully enacted on the running container after it has been started or has been successfully resized."
   },
   {
    "j": "volumeMounts",
    "t": "[]@io.k8s.api.core.v1.VolumeMountStatus",
    "o": 1,
    "p": 12,
    "ps": "merge",
    "pk": "mountPath",
    "lt": "map",
    "lk": [
     "mountPath"
    ],
    "d": "Status of volume mounts."
   },
   {
    "j": "user",
    "t": "*@io.k8s.api.core.v1.ContainerUser",
    "o": 1,
    "p": 13,
    "d": "User represents user identity information initially attached to the first process of the container"
   },
   {
    "j": "allocatedResourcesStatus",
    "t": "[]@io.k8s.api.core.v1.ResourceStatus",
    "o": 1,
    "p": 14,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "AllocatedResourcesStatus represents the status of various resources allocated for this Pod."
   },
   {
    "j": "stopSignal",
    "t": "*@io.k8s.api.core.v1.Signal",
    "o": 1,
    "p": 15,
    "d": "StopSignal reports the effective stop signal for this container"
   }
  ]
 },
 "io.k8s.api.core.v1.ContainerUser": {
  "go": "v1.ContainerUser",
  "d": "ContainerUser represents user identity information",
  "f": [
   {
    "j": "linux",
    "t": "*@io.k8s.api.core.v1.LinuxContainerUser",
    "o": 1,
    "p": 1,
    "d": "Linux holds user identity information initially attached to the first process of the containers in Linux. Note that the actual running identity can be changed if the process has enough privilege to do so."
   }
  ]
 },
 "io.k8s.api.core.v1.DNSPolicy": {
  "go": "v1.DNSPolicy",
  "u": "string"
 },
 "io.k8s.api.core.v1.DaemonEndpoint": {
  "go": "v1.DaemonEndpoint",
  "d": "DaemonEndpoint contains information about a single Daemon endpoint.",
  "f": [
   {
    "j": "Port",
    "t": "int32",
    "p": 1,
    "req": 1,
    "d": "Port number of the given endpoint."
   }
  ]
 },
 "io.k8s.api.core.v1.DownwardAPIProjection": {
  "go": "v1.DownwardAPIProjection",
  "d": "Represents downward API info for projecting into a projected volume. Note that this is identical to a downwardAPI volume source without the default mode.",
  "f": [
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.DownwardAPIVolumeFile",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "Items is a list of DownwardAPIVolume file"
   }
  ]
 },
 "io.k8s.api.core.v1.DownwardAPIVolumeFile": {
  "go": "v1.DownwardAPIVolumeFile",
  "d": "DownwardAPIVolumeFile represents information to create the file containing the pod field",
  "f": [
   {
    "j": "path",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Required: Path is  the relative path name of the file to be created. Must not be absolute or contain the '..' path. Must be utf-8 encoded. The first item of the relative path must not start with '..'"
   },
   {
    "j": "fieldRef",
    "t": "*@io.k8s.api.core.v1.ObjectFieldSelector",
    "o": 1,
    "p": 2,
    "d": "Required: Selects a field of the pod: only annotations, labels, name, namespace and uid are supported."
   },
   {
    "j": "resourceFieldRef",
    "t": "*@io.k8s.api.core.v1.ResourceFieldSelector",
    "o": 1,
    "p": 3,
    "d": "Selects a resource of the container: only resources limits and requests (limits.cpu, limits.memory, requests.cpu and requests.memory) are currently supported."
   },
   {
    "j": "mode",
    "t": "*int32",
    "o": 1,
    "p": 4,
    "d": "Optional: mode bits used to set permissions on this file, must be an octal value between 0000 and 0777 or a decimal value between 0 and 511. YAML accepts both octal and decimal values, JSON requires decimal values for mode bits. If not specified, the volume defaultMode will be used. This might be in conflict with other options that affect the file mode, like fsGroup, and the result can be other mode bits set."
   },
   {
    "j": "user",
    "t": "*int64",
    "o": 1,
    "p": 5,
    "d": "user is Optional: The owner UID of the created file. If specified, the item-level user field takes precedence over defaultUser. (Alpha) This field requires the AtomicWriteVolumeUserFields feature gate to be enabled."
   }
  ]
 },
 "io.k8s.api.core.v1.DownwardAPIVolumeSource": {
  "go": "v1.DownwardAPIVolumeSource",
  "d": "DownwardAPIVolumeSource represents a volume containing downward API info. Downward API volumes support ownership management and SELinux relabeling.",
  "f": [
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.DownwardAPIVolumeFile",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "Items is a list of downward API volume file"
   },
   {
    "j": "defaultMode",
    "t": "*int32",
    "o": 1,
    "p": 2,
    "d": "Optional: mode bits to use on created files by default. Must be a Optional: mode bits used to set permissions on created files by default. Must be an octal value between 0000 and 0777 or a decimal value between 0 and 511. YAML accepts both octal and decimal values, JSON requires decimal values for mode bits. Defaults to 0644. Directories within the path are not affected by this setting. This might be in conflict with other options that affect the file mode, like fsGroup, and the result can be other mode bits set."
   },
   {
    "j": "defaultUser",
    "t": "*int64",
    "o": 1,
    "p": 3,
    "d": "defaultUser is Optional: The owner UID of the created files by default. The defaultUser field is only used as a fallback when the item-level user field is unset. (Alpha) This field requires the AtomicWriteVolumeUserFields feature gate to be enabled."
   }
  ]
 },
 "io.k8s.api.core.v1.EmptyDirVolumeSource": {
  "go": "v1.EmptyDirVolumeSource",
  "d": "Represents an empty directory for a pod. Empty directory volumes support ownership management and SELinux relabeling.",
  "f": [
   {
    "j": "medium",
    "t": "@io.k8s.api.core.v1.StorageMedium",
    "o": 1,
    "p": 1,
    "d": "medium represents what type of storage medium should back this directory. The default is \"\" which means to use the node's default medium. Must be an empty string (default) or Memory. More info: https://kubernetes.io/docs/concepts/storage/volumes#emptydir"
   },
   {
    "j": "sizeLimit",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 2,
    "d": "sizeLimit is the total amount of local storage required for this EmptyDir volume. The size limit is also applicable for memory medium. The maximum usage on memory medium EmptyDir would be the minimum value between the SizeLimit specified here and the sum of memory limits of all containers in a pod. The default is nil which means that the limit is undefined. More info: https://kubernetes.io/docs/concepts/storage/volumes#emptydir"
   },
   {
    "j": "mode",
    "t": "*int32",
    "o": 1,
    "p": 3,
    "d": "mode specifies the permission bits for the emptyDir directory, in numeric notation (e.g., 0755, 01777). Must be a value between 0000 and 01777. If not specified, defaults to 0777. This might be in conflict with other options that affect the file mode, like fsGroup. If fsGroup is specified, the fsGroup permissions will override the mode specified here. This field has no effect on Windows. This field is alpha and requires EmptyDirVolumeMode featuregate to be enabled."
   }
  ]
 },
 "io.k8s.api.core.v1.EndpointAddress": {
  "go": "v1.EndpointAddress",
  "d": "EndpointAddress is a tuple that describes single IP address. Deprecated: This API is deprecated in v1.33+.",
  "f": [
   {
    "j": "ip",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "The IP of this endpoint. May not be loopback (127.0.0.0/8 or ::1), link-local (169.254.0.0/16 or fe80::/10), or link-local multicast (224.0.0.0/24 or ff02::/16)."
   },
   {
    "j": "hostname",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "The Hostname of this endpoint"
   },
   {
    "j": "nodeName",
    "t": "*string",
    "o": 1,
    "p": 4,
    "d": "Optional: Node hosting this endpoint. This can be used to determine endpoints local to a node."
   },
   {
    "j": "targetRef",
    "t": "*@io.k8s.api.core.v1.ObjectReference",
    "o": 1,
    "p": 2,
    "d": "Reference to object providing the endpoint."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.core.v1.EndpointPort": {
  "go": "v1.EndpointPort",
  "d": "EndpointPort is a tuple that describes a single port. Deprecated: This API is deprecated in v1.33+.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "The name of this port.  This must match the 'name' field in the corresponding ServicePort. Must be a DNS_LABEL. Optional only if one port is defined."
   },
   {
    "j": "port",
    "t": "int32",
    "p": 2,
    "req": 1,
    "d": "The port number of the endpoint."
   },
   {
    "j": "protocol",
    "t": "@io.k8s.api.core.v1.Protocol",
    "o": 1,
    "p": 3,
    "d": "The IP protocol for this port. Must be UDP, TCP, or SCTP. Default is TCP."
   },
   {
    "j": "appProtocol",
    "t": "*string",
    "o": 1,
    "p": 4,
    "d": "The application protocol for this port. This is used as a hint for implementations to offer richer behavior for protocols that they understand. This field follows standard Kubernetes label syntax. Valid values are either:\n\n* Un-prefixed protocol names - reserved for IANA standard service names (as per RFC-6335 and https://www.iana.org/assignments/service-names).\n\n* Kubernetes-defined prefixed names:\n  * 'kubernetes.io/h2c' - HTTP/2 prior knowledge over cleartext as described in https://www.rfc-editor.org/rfc/rfc9113.html#name-starting-http-2-with-prior-\n  * 'kubernetes.io/ws'  - WebSocket over cleartext as described in https://www.rfc-editor.org/rfc/rfc6455\n  * 'kubernetes.io/wss' - WebSocket over TLS as described in https://www.rfc-editor.org/rfc/rfc6455\n\n* Other protocols should use implementation-defined prefixed names such as mycompany.com/my-custom-protocol."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.core.v1.EndpointSubset": {
  "go": "v1.EndpointSubset",
  "d": "EndpointSubset is a group of addresses with a common set of ports. The expanded set of endpoints is the Cartesian product of Addresses x Ports. For example, given:\n\n\t{\n\t  Addresses: [{\"ip\": \"10.10.1.1\"}, {\"ip\": \"10.10.2.2\"}],\n\t  Ports:     [{\"name\": \"a\", \"port\": 8675}, {\"name\": \"b\", \"port\": 309}]\n\t}\n\nThe resulting set of endpoints can be viewed as:\n\n\ta: [ 10.10.1.1:8675, 10.10.2.2:8675 ],\n\tb: [ 10.10.1.1:309, 10.10.2.2:309 ]\n\nDeprecated: This API is deprecated in v1.33+.",
  "f": [
   {
    "j": "addresses",
    "t": "[]@io.k8s.api.core.v1.EndpointAddress",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "IP addresses which offer the related ports that are marked as ready. These endpoints should be considered safe for load balancers and clients to utilize."
   },
   {
    "j": "notReadyAddresses",
    "t": "[]@io.k8s.api.core.v1.EndpointAddress",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "IP addresses which offer the related ports but are not currently marked as ready because they have not yet finished starting, have recently failed a readiness check, or have recently failed a liveness check."
   },
   {
    "j": "ports",
    "t": "[]@io.k8s.api.core.v1.EndpointPort",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "Port numbers available on the related IP addresses."
   }
  ]
 },
 "io.k8s.api.core.v1.Endpoints": {
  "go": "v1.Endpoints",
  "d": "Endpoints is a collection of endpoints that implement the actual service. Example:\n\n\t Name: \"mysvc\",\n\t Subsets: [\n\t   {\n\t     Addresses: [{\"ip\": \"10.10.1.1\"}, {\"ip\": \"10.10.2.2\"}],\n\t     Ports: [{\"name\": \"a\", \"port\": 8675}, {\"name\": \"b\", \"port\": 309}]\n\t   },\n\t   {\n\t     Addresses: [{\"ip\": \"10.10.3.3\"}],\n\t     Ports: [{\"name\": \"a\", \"port\": 93}, {\"name\": \"b\", \"port\": 76}]\n\t   },\n\t]\n\nEndpoints is a legacy API and does not contain information about all Service features. Use discoveryv1.EndpointSlice for complete information about Service endpoints.\n\nDeprecated: This API is deprecated in v1.33+. Use discoveryv1.EndpointSlice.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "subsets",
    "t": "[]@io.k8s.api.core.v1.EndpointSubset",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "The set of all endpoints is the union of all subsets. Addresses are placed into subsets according to the IPs they share. A single address with multiple ports, some of which are ready and some of which are not (because they come from different containers) will result in the address being displayed in different subsets for the different ports. No address will appear in both Addresses and NotReadyAddresses in the same subset. Sets of addresses and ports that comprise a service."
   }
  ]
 },
 "io.k8s.api.core.v1.EndpointsList": {
  "go": "v1.EndpointsList",
  "d": "EndpointsList is a list of endpoints. Deprecated: This API is deprecated in v1.33+.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.Endpoints",
    "p": 2,
    "req": 1,
    "d": "List of endpoints."
   }
  ]
 },
 "io.k8s.api.core.v1.EnvFromSource": {
  "go": "v1.EnvFromSource",
  "d": "EnvFromSource represents the source of a set of ConfigMaps or Secrets",
  "f": [
   {
    "j": "prefix",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Optional text to prepend to the name of each environment variable. May consist of any printable ASCII characters except '='."
   },
   {
    "j": "configMapRef",
    "t": "*@io.k8s.api.core.v1.ConfigMapEnvSource",
    "o": 1,
    "p": 2,
    "d": "The ConfigMap to select from"
   },
   {
    "j": "secretRef",
    "t": "*@io.k8s.api.core.v1.SecretEnvSource",
    "o": 1,
    "p": 3,
    "d": "The Secret to select from"
   }
  ]
 },
 "io.k8s.api.core.v1.EnvVar": {
  "go": "v1.EnvVar",
  "d": "EnvVar represents an environment variable present in a Container.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Name of the environment variable. May consist of any printable ASCII characters except '='."
   },
   {
    "j": "value",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "Variable references $(VAR_NAME) are expanded using the previously defined environment variables in the container and any service environment variables. If a variable cannot be resolved, the reference in the input string will be unchanged. Double $$ are reduced to a single $, which allows for escaping the $(VAR_NAME) syntax: i.e. \"$$(VAR_NAME)\" will produce the string literal \"$(VAR_NAME)\". Escaped references will never be expanded, regardless of whether the variable exists or not. Defaults to \"\"."
   },
   {
    "j": "valueFrom",
    "t": "*@io.k8s.api.core.v1.EnvVarSource",
    "o": 1,
    "p": 3,
    "d": "Source for the environment variable's value. Cannot be used if value is not empty."
   }
  ]
 },
 "io.k8s.api.core.v1.EnvVarSource": {
  "go": "v1.EnvVarSource",
  "d": "EnvVarSource represents a source for the value of an EnvVar.",
  "f": [
   {
    "j": "fieldRef",
    "t": "*@io.k8s.api.core.v1.ObjectFieldSelector",
    "o": 1,
    "p": 1,
    "d": "Selects a field of the pod: supports metadata.name, metadata.namespace, `metadata.labels['<KEY>']`, `metadata.annotations['<KEY>']`, spec.nodeName, spec.serviceAccountName, status.hostIP, status.podIP, status.podIPs."
   },
   {
    "j": "resourceFieldRef",
    "t": "*@io.k8s.api.core.v1.ResourceFieldSelector",
    "o": 1,
    "p": 2,
    "d": "Selects a resource of the container: only resources limits and requests (limits.cpu, limits.memory, limits.ephemeral-storage, requests.cpu, requests.memory and requests.ephemeral-storage) are currently supported."
   },
   {
    "j": "configMapKeyRef",
    "t": "*@io.k8s.api.core.v1.ConfigMapKeySelector",
    "o": 1,
    "p": 3,
    "d": "Selects a key of a ConfigMap."
   },
   {
    "j": "secretKeyRef",
    "t": "*@io.k8s.api.core.v1.SecretKeySelector",
    "o": 1,
    "p": 4,
    "d": "Selects a key of a secret in the pod's namespace"
   },
   {
    "j": "fileKeyRef",
    "t": "*@io.k8s.api.core.v1.FileKeySelector",
    "o": 1,
    "p": 5,
    "d": "FileKeyRef selects a key of the env file. Requires the EnvFiles feature gate to be enabled."
   }
  ]
 },
 "io.k8s.api.core.v1.EphemeralContainer": {
  "go": "v1.EphemeralContainer",
  "d": "An EphemeralContainer is a temporary container that you may add to an existing Pod for user-initiated activities such as debugging. Ephemeral containers have no resource or scheduling guarantees, and they will not be restarted when they exit or when a Pod is removed or restarted. The kubelet may evict a Pod if an ephemeral container causes the Pod to exceed its resource allocation.\n\nTo add an ephemeral container, use the ephemeralcontainers subresource of an existing Pod. Ephemeral containers may not be removed or restarted.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.api.core.v1.EphemeralContainerCommon",
    "p": 1,
    "req": 1,
    "d": "Ephemeral containers have all of the fields of Container, plus additional fields specific to ephemeral containers. Fields in common with Container are in the following inlined struct so than an EphemeralContainer may easily be converted to a Container."
   },
   {
    "j": "targetContainerName",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "If set, the name of the container from PodSpec that this ephemeral container targets. The ephemeral container will be run in the namespaces (IPC, PID, etc) of this container. If not set then the ephemeral container uses the namespaces configured in the Pod spec.\n\nThe container runtime must implement support for this feature. If the runtime does not support namespace targeting then the result of setting this field is undefined."
   }
  ]
 },
 "io.k8s.api.core.v1.EphemeralContainerCommon": {
  "go": "v1.EphemeralContainerCommon",
  "d": "EphemeralContainerCommon is a copy of all fields in Container to be inlined in EphemeralContainer. This separate type allows easy conversion from EphemeralContainer to Container and allows separate documentation for the fields of EphemeralContainer. When a new field is added to Container it must be added here as well.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Name of the ephemeral container specified as a DNS_LABEL. This name must be unique among all containers, init containers and ephemeral containers."
   },
   {
    "j": "image",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "Container image name. More info: https://kubernetes.io/docs/concepts/containers/images"
   },
   {
    "j": "command",
    "t": "[]string",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "Entrypoint array. Not executed within a shell. The image's ENTRYPOINT is used if this is not provided. Variable references $(VAR_NAME) are expanded using the container's environment. If a variable cannot be resolved, the reference in the input string will be unchanged. Double $$ are reduced to a single $, which allows for escaping the $(VAR_NAME) syntax: i.e. \"$$(VAR_NAME)\" will produce the string literal \"$(VAR_NAME)\". Escaped references will never be expanded, regardless of whether the variable exists or not. Cannot be updated. More info: https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/#running-a-command-in-a-shell"
   },
   {
    "j": "args",
    "t": "[]string",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "Arguments to the entrypoint. The image's CMD is used if this is not provided. Variable references $(VAR_NAME) are expanded using the container's environment. If a variable cannot be resolved, the reference in the input string will be unchanged. Double $$ are reduced to a single $, which allows for escaping the $(VAR_NAME) syntax: i.e. \"$$(VAR_NAME)\" will produce the string literal \"$(VAR_NAME)\". Escaped references will never be expanded, regardless of whether the variable exists or not. Cannot be updated. More info: https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/#running-a-command-in-a-shell"
   },
   {
    "j": "workingDir",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "Container's working directory. If not specified, the container runtime's default will be used, which might be configured in the container image. Cannot be updated."
   },
   {
    "j": "ports",
    "t": "[]@io.k8s.api.core.v1.ContainerPort",
    "o": 1,
    "p": 6,
    "ps": "merge",
    "pk": "containerPort",
    "lt": "map",
    "lk": [
     "containerPort",
     "protocol"
    ],
    "d": "Ports are not allowed for ephemeral containers."
   },
   {
    "j": "envFrom",
    "t": "[]@io.k8s.api.core.v1.EnvFromSource",
    "o": 1,
    "p": 19,
    "lt": "atomic",
    "d": "List of sources to populate environment variables in the container. The keys defined within a source may consist of any printable ASCII characters except '='. When a key exists in multiple sources, the value associated with the last source will take precedence. Values defined by an Env with a duplicate key will take precedence. Cannot be updated."
   },
   {
    "j": "env",
    "t": "[]@io.k8s.api.core.v1.EnvVar",
    "o": 1,
    "p": 7,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "List of environment variables to set in the container. Cannot be updated."
   },
   {
    "j": "resources",
    "t": "@io.k8s.api.core.v1.ResourceRequirements",
    "o": 1,
    "p": 8,
    "d": "Resources are not allowed for ephemeral containers. Ephemeral containers use spare resources already allocated to the pod."
   },
   {
    "j": "resizePolicy",
    "t": "[]@io.k8s.api.core.v1.ContainerResizePolicy",
    "o": 1,
    "p": 23,
    "lt": "atomic",
    "d": "Resources resize policy for the container."
   },
   {
    "j": "restartPolicy",
    "t": "*@io.k8s.api.core.v1.ContainerRestartPolicy",
    "o": 1,
    "p": 24,
    "d": "Restart policy for the container to manage the restart behavior of each container within a pod. You cannot set this field on ephemeral containers."
   },
   {
    "j": "restartPolicyRules",
    "t": "[]@io.k8s.api.core.v1.ContainerRestartRule",
    "o": 1,
    "p": 25,
    "lt": "atomic",
    "d": "Represents a list of rules to be checked to determine if the container should be restarted on exit. You cannot set this field on ephemeral containers."
   },
   {
    "j": "volumeMounts",
    "t": "[]@io.k8s.api.core.v1.VolumeMount",
    "o": 1,
    "p": 9,
    "ps": "merge",
    "pk": "mountPath",
    "lt": "map",
    "lk": [
     "mountPath"
    ],
    "d": "Pod volumes to mount into the container's filesystem. Subpath mounts are not allowed for ephemeral containers. Cannot be updated."
   },
   {
    "j": "volumeDevices",
    "t": "[]@io.k8s.api.core.v1.VolumeDevice",
    "o": 1,
    "p": 21,
    "ps": "merge",
    "pk": "devicePath",
    "lt": "map",
    "lk": [
     "devicePath"
    ],
    "d": "volumeDevices is the list of block devices to be used by the container."
   },
   {
    "j": "livenessProbe",
    "t": "*@io.k8s.api.core.v1.Probe",
    "o": 1,
    "p": 10,
    "d": "Probes are not allowed for ephemeral containers."
   },
   {
    "j": "readinessProbe",
    "t": "*@io.k8s.api.core.v1.Probe",
    "o": 1,
    "p": 11,
    "d": "Probes are not allowed for ephemeral containers."
   },
   {
    "j": "startupProbe",
    "t": "*@io.k8s.api.core.v1.Probe",
    "o": 1,
    "p": 22,
    "d": "Probes are not allowed for ephemeral containers."
   },
   {
    "j": "lifecycle",
    "t": "*@io.k8s.api.core.v1.Lifecycle",
    "o": 1,
    "p": 12,
    "d": "Lifecycle is not allowed for ephemeral containers."
   },
   {
    "j": "terminationMessagePath",
    "t": "string",
    "o": 1,
    "p": 13,
    "d": "Optional: Path at which the file to which the container's termination message will be written is mounted into the container's filesystem. Message written is intended to be brief final status, such as an assertion failure message. Will be truncated by the node if greater than 4096 bytes. The total message length across all containers will be limited to 12kb. Defaults to /dev/termination-log. Cannot be updated."
   },
   {
    "j": "terminationMessagePolicy",
    "t": "@io.k8s.api.core.v1.TerminationMessagePolicy",
    "o": 1,
    "p": 20,
    "d": "Indicate how the termination message should be populated. File will use the contents of terminationMessagePath to populate the container status message on both success and failure. FallbackToLogsOnError will use the last chunk of container log output if the termination message file is empty and the container exited with an error. The log output is limited to 2048 bytes or 80 lines, whichever is smaller. Defaults to File. Cannot be updated."
   },
   {
    "j": "imagePullPolicy",
    "t": "@io.k8s.api.core.v1.PullPolicy",
    "o": 1,
    "p": 14,
    "d": "Image pull policy. One of Always, Never, IfNotPresent. Defaults to Always if :latest tag is specified, or IfNotPresent otherwise. Cannot be updated. More info: https://kubernetes.io/docs/concepts/containers/images#updating-images"
   },
   {
    "j": "securityContext",
    "t": "*@io.k8s.api.core.v1.SecurityContext",
    "o": 1,
    "p": 15,
    "d": "Optional: SecurityContext defines the security options the ephemeral container should be run with. If set, the fields of SecurityContext override the equivalent fields of PodSecurityContext."
   },
   {
    "j": "stdin",
    "t": "bool",
    "o": 1,
    "p": 16,
    "d": "Whether this container should allocate a buffer for stdin in the container runtime. If this is not set, reads from stdin in the container will always result in EOF. Default is false."
   },
   {
    "j": "stdinOnce",
    "t": "bool",
    "o": 1,
    "p": 17,
    "d": "Whether the container runtime should close the stdin channel after it has been opened by a single attach. When stdin is true the stdin stream will remain open across multiple attach sessions. If stdinOnce is set to true, stdin is opened on container start, is empty until the first client attaches to stdin, and then remains open and accepts data until the client disconnects, at which time stdin is closed and remains closed until the container is restarted. If this flag is false, a container processes that reads from stdin will never receive an EOF. Default is false"
   },
   {
    "j": "tty",
    "t": "bool",
    "o": 1,
    "p": 18,
    "d": "Whether this container should allocate a TTY for itself, also requires 'stdin' to be true. Default is false."
   }
  ]
 },
 "io.k8s.api.core.v1.EphemeralVolumeSource": {
  "go": "v1.EphemeralVolumeSource",
  "d": "Represents an ephemeral volume that is handled by a normal storage driver.",
  "f": [
   {
    "j": "volumeClaimTemplate",
    "t": "*@io.k8s.api.core.v1.PersistentVolumeClaimTemplate",
    "o": 1,
    "p": 1,
    "d": "Will be used to create a stand-alone PVC to provision the volume. The pod in which this EphemeralVolumeSource is embedded will be the owner of the PVC, i.e. the PVC will be deleted together with the pod.  The name of the PVC will be `<pod name>-<volume name>` where `<volume name>` is the name from the `PodSpec.Volumes` array entry. Pod validation will reject the pod if the concatenated name is not valid for a PVC (for example, too long).\n\nAn existing PVC with that name that is not owned by the pod will *not* be used for the pod to avoid using an unrelated volume by mistake. Starting the pod is then blocked until the unrelated PVC is removed. If such a pre-created PVC is meant to be used by the pod, the PVC has to updated with an owner reference to the pod once the pod exists. Normally this should not be necessary, but it may be useful when manually reconstructing a broken cluster.\n\nThis field is read-only and no changes will be made by Kubernetes to the PVC after it has been created.\n\nRequired, must not be nil."
   }
  ]
 },
 "io.k8s.api.core.v1.Event": {
  "go": "v1.Event",
  "d": "Event is a report of an event somewhere in the cluster.  Events have a limited retention time and triggers and messages may evolve with time.  Event consumers should not rely on the timing of an event with a given Reason reflecting a consistent underlying trigger, or the continued existence of events with that Reason.  Events should be treated as informative, best-effort, supplemental data.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "p": 1,
    "req": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "involvedObject",
    "t": "@io.k8s.api.core.v1.ObjectReference",
    "p": 2,
    "req": 1,
    "d": "The object that this event is about."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "This should be a short, machine understandable string that gives the reason for the transition into the object's current status."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "A human-readable description of the status of this operation."
   },
   {
    "j": "source",
    "t": "@io.k8s.api.core.v1.EventSource",
    "o": 1,
    "p": 5,
    "d": "The component reporting this event. Should be a short machine understandable string."
   },
   {
    "j": "firstTimestamp",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 6,
    "d": "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)"
   },
   {
    "j": "lastTimestamp",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 7,
    "d": "The time at which the most recent occurrence of this event was recorded."
   },
   {
    "j": "count",
    "t": "int32",
    "o": 1,
    "p": 8,
    "d": "The number of times this event has occurred."
   },
   {
    "j": "type",
    "t": "string",
    "o": 1,
    "p": 9,
    "d": "Type of this event (Normal, Warning), new types could be added in the future"
   },
   {
    "j": "eventTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
    "o": 1,
    "p": 10,
    "d": "Time when this Event was first observed."
   },
   {
    "j": "series",
    "t": "*@io.k8s.api.core.v1.EventSeries",
    "o": 1,
    "p": 11,
    "d": "Data about the Event series this event represents or nil if it's a singleton Event."
   },
   {
    "j": "action",
    "t": "string",
    "o": 1,
    "p": 12,
    "d": "What action was taken/failed regarding to the Regarding object."
   },
   {
    "j": "related",
    "t": "*@io.k8s.api.core.v1.ObjectReference",
    "o": 1,
    "p": 13,
    "d": "Optional secondary object for more complex actions."
   },
   {
    "j": "reportingComponent",
    "t": "string",
    "p": 14,
    "d": "Name of the controller that emitted this Event, e.g. `kubernetes.io/kubelet`."
   },
   {
    "j": "reportingInstance",
    "t": "string",
    "p": 15,
    "d": "ID of the controller instance, e.g. `kubelet-xyzf`."
   }
  ]
 },
 "io.k8s.api.core.v1.EventList": {
  "go": "v1.EventList",
  "d": "EventList is a list of events.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.Event",
    "p": 2,
    "req": 1,
    "d": "List of events"
   }
  ]
 },
 "io.k8s.api.core.v1.EventSeries": {
  "go": "v1.EventSeries",
  "d": "EventSeries contain information on series of events, i.e. thing that was/is happening continuously for some time.",
  "f": [
   {
    "j": "count",
    "t": "int32",
    "o": 1,
    "p": 1,
    "d": "Number of occurrences in this series up to the last heartbeat time"
   },
   {
    "j": "lastObservedTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
    "o": 1,
    "p": 2,
    "d": "Time of the last occurrence observed"
   }
  ]
 },
 "io.k8s.api.core.v1.EventSource": {
  "go": "v1.EventSource",
  "d": "EventSource contains information for an event.",
  "f": [
   {
    "j": "component",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Component from which the event is generated."
   },
   {
    "j": "host",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "Node name on which the event is generated."
   }
  ]
 },
 "io.k8s.api.core.v1.EvictionResponder": {
  "go": "v1.EvictionResponder",
  "d": "EvictionResponder allows you to specify the responder reacting to an Eviction. Responders should observe and communicate through the Eviction Resource API to help with the graceful eviction of a target (e.g. termination of a pod).",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name allows you to identify the responder responding to the Eviction.\n\nIt must be a valid domain-prefixed key (such as \"acme.io/foo\"). Domain names *.k8s.io and *.kubernetes.io are reserved. This field must be unique for each responder. This field is required."
   },
   {
    "j": "priority",
    "t": "*int32",
    "p": 2,
    "req": 1,
    "d": "priority for this responder. Higher priorities are selected first by the evictionrequest-controller. If there are responders with the same priority, the responder whose domain name comes first in the alphabetical higher domain order, will be picked. This means that the top domain labels are compared alphabetically first, followed by the lower domain labels. The key is compared last.\n\nThe responder that is the managing controller of the pod should set the value of this field to 10000 to allow both for preemption or fallback registration by other responders.\n\nThe minimum value is 0 and the maximum value is 100000. The interval 0-999 is reserved for responders with *.k8s.io suffix. This field is required."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.core.v1.ExecAction": {
  "go": "v1.ExecAction",
  "d": "ExecAction describes a \"run in container\" action.",
  "f": [
   {
    "j": "command",
    "t": "[]string",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "Command is the command line to execute inside the container, the working directory for the command  is root ('/') in the container's filesystem. The command is simply exec'd, it is not run inside a shell, so traditional shell instructions ('|', etc) won't work. To use a shell, you need to explicitly call out to that shell. Exit status of 0 is treated as live/healthy and non-zero is unhealthy."
   }
  ]
 },
 "io.k8s.api.core.v1.FCVolumeSource": {
  "go": "v1.FCVolumeSource",
  "d": "Represents a Fibre Channel volume. Fibre Channel volumes can only be mounted as read/write once. Fibre Channel volumes support ownership management and SELinux relabeling.",
  "f": [
   {
    "j": "targetWWNs",
    "t": "[]string",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "targetWWNs is Optional: FC target worldwide names (WWNs)"
   },
   {
    "j": "lun",
    "t": "*int32",
    "o": 1,
    "p": 2,
    "d": "lun is Optional: FC target lun number"
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "fsType is the filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex. \"ext4\", \"xfs\", \"ntfs\". Implicitly inferred to be \"ext4\" if unspecified."
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 4,
    "d": "readOnly is Optional: Defaults to false (read/write). ReadOnly here will force the ReadOnly setting in VolumeMounts."
   },
   {
    "j": "wwids",
    "t": "[]string",
    "o": 1,
    "p": 5,
    "lt": "atomic",
    "d": "wwids Optional: FC volume world wide identifiers (wwids) Either wwids or combination of targetWWNs and lun must be set, but not both simultaneously."
   }
  ]
 },
 "io.k8s.api.core.v1.FileKeySelector": {
  "go": "v1.FileKeySelector",
  "d": "FileKeySelector selects a key of the env file.",
  "f": [
   {
    "j": "volumeName",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "The name of the volume mount containing the env file."
   },
   {
    "j": "path",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "The path within the volume from which to select the file. Must be relative and may not contain the '..' path or start with '..'."
   },
   {
    "j": "key",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "The key within the env file. An invalid key will prevent the pod from starting. The keys defined within a source may consist of any printable ASCII characters except '='. During Alpha stage of the EnvFiles feature gate, the key size is limited to 128 characters."
   },
   {
    "j": "optional",
    "t": "*bool",
    "o": 1,
    "p": 4,
    "def": "false",
    "d": "Specify whether the file or its key must be defined. If the file or key does not exist, then the env var is not published. If optional is set to true and the specified key does not exist, the environment variable will not be set in the Pod's containers.\n\nIf optional is set to false and the specified key does not exist, an error will be returned during Pod creation."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.core.v1.FinalizerName": {
  "go": "v1.FinalizerName",
  "u": "string"
 },
 "io.k8s.api.core.v1.FlexPersistentVolumeSource": {
  "go": "v1.FlexPersistentVolumeSource",
  "d": "FlexPersistentVolumeSource represents a generic persistent volume resource that is provisioned/attached using an exec based plugin.",
  "f": [
   {
    "j": "driver",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "driver is the name of the driver to use for this volume."
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "fsType is the Filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex. \"ext4\", \"xfs\", \"ntfs\". The default filesystem depends on FlexVolume script."
   },
   {
    "j": "secretRef",
    "t": "*@io.k8s.api.core.v1.SecretReference",
    "o": 1,
    "p": 3,
    "d": "secretRef is Optional: SecretRef is reference to the secret object containing sensitive information to pass to the plugin scripts. This may be empty if no secret object is specified. If the secret object contains more than one secret, all secrets are passed to the plugin scripts."
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 4,
    "d": "readOnly is Optional: defaults to false (read/write). ReadOnly here will force the ReadOnly setting in VolumeMounts."
   },
   {
    "j": "options",
    "t": "map[string]string",
    "o": 1,
    "p": 5,
    "d": "options is Optional: this field holds extra command options if any."
   }
  ]
 },
 "io.k8s.api.core.v1.FlexVolumeSource": {
  "go": "v1.FlexVolumeSource",
  "d": "FlexVolume represents a generic volume resource that is provisioned/attached using an exec based plugin.",
  "f": [
   {
    "j": "driver",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "driver is the name of the driver to use for this volume."
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "fsType is the filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex. \"ext4\", \"xfs\", \"ntfs\". The default filesystem depends on FlexVolume script."
   },
   {
    "j": "secretRef",
    "t": "*@io.k8s.api.core.v1.LocalObjectReference",
    "o": 1,
    "p": 3,
    "d": "secretRef is Optional: secretRef is reference to the secret object containing sensitive information to pass to the plugin scripts. This may be empty if no secret object is specified. If the secret object contains more than one secret, all secrets are passed to the plugin scripts."
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 4,
    "d": "readOnly is Optional: defaults to false (read/write). ReadOnly here will force the ReadOnly setting in VolumeMounts."
   },
   {
    "j": "options",
    "t": "map[string]string",
    "o": 1,
    "p": 5,
    "d": "options is Optional: this field holds extra command options if any."
   }
  ]
 },
 "io.k8s.api.core.v1.FlockerVolumeSource": {
  "go": "v1.FlockerVolumeSource",
  "d": "Represents a Flocker volume mounted by the Flocker agent. One and only one of datasetName and datasetUUID should be set. Flocker volumes do not support ownership management or SELinux relabeling.",
  "f": [
   {
    "j": "datasetName",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "datasetName is Name of the dataset stored as metadata -> name on the dataset for Flocker should be considered as deprecated"
   },
   {
    "j": "datasetUUID",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "datasetUUID is the UUID of the dataset. This is unique identifier of a Flocker dataset"
   }
  ]
 },
 "io.k8s.api.core.v1.GCEPersistentDiskVolumeSource": {
  "go": "v1.GCEPersistentDiskVolumeSource",
  "d": "Represents a Persistent Disk resource in Google Compute Engine.\n\nA GCE PD must exist before mounting to a container. The disk must also be in the same GCE project and zone as the kubelet. A GCE PD can only be mounted as read/write once or read-only many times. GCE PDs support ownership management and SELinux relabeling.",
  "f": [
   {
    "j": "pdName",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "pdName is unique name of the PD resource in GCE. Used to identify the disk in GCE. More info: https://kubernetes.io/docs/concepts/storage/volumes#gcepersistentdisk"
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "fsType is filesystem type of the volume that you want to mount. Tip: Ensure that the filesystem type is supported by the host operating system. Examples: \"ext4\", \"xfs\", \"ntfs\". Implicitly inferred to be \"ext4\" if unspecified. More info: https://kubernetes.io/docs/concepts/storage/volumes#gcepersistentdisk"
   },
   {
    "j": "partition",
    "t": "int32",
    "o": 1,
    "p": 3,
    "d": "partition is the partition in the volume that you want to mount. If omitted, the default is to mount by volume name. Examples: For volume /dev/sda1, you specify the partition as \"1\". Similarly, the volume partition for /dev/sda is \"0\" (or you can leave the property empty). More info: https://kubernetes.io/docs/concepts/storage/volumes#gcepersistentdisk"
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 4,
    "d": "readOnly here will force the ReadOnly setting in VolumeMounts. Defaults to false. More info: https://kubernetes.io/docs/concepts/storage/volumes#gcepersistentdisk"
   }
  ]
 },
 "io.k8s.api.core.v1.GRPCAction": {
  "go": "v1.GRPCAction",
  "d": "GRPCAction specifies an action involving a GRPC service.",
  "f": [
   {
    "j": "port",
    "t": "int32",
    "p": 1,
    "req": 1,
    "d": "Port number of the gRPC service. Number must be in the range 1 to 65535."
   },
   {
    "j": "service",
    "t": "*string",
    "p": 2,
    "def": "\"\"",
    "d": "Service is the name of the service to place in the gRPC HealthCheckRequest (see https://github.com/grpc/grpc/blob/master/doc/health-checking.md).\n\nIf this is not specified, the default behavior is defined by gRPC."
   },
   {
    "j": "mode",
    "t": "*@io.k8s.api.core.v1.GRPCProbeMode",
    "o": 1,
    "p": 3,
    "d": "mode specifies the connection mode for the gRPC health probe. Set to \"TLS\" to use TLS without certificate verification. Set to \"Plaintext\" to use a plaintext (insecure) connection explicitly. If not specified, the probe uses a plaintext (insecure) connection."
   }
  ]
 },
 "io.k8s.api.core.v1.GRPCProbeMode": {
  "go": "v1.GRPCProbeMode",
  "u": "string"
 },
 "io.k8s.api.core.v1.GitRepoVolumeSource": {
  "go": "v1.GitRepoVolumeSource",
  "d": "Represents a volume that is populated with the contents of a git repository. Git repo volumes do not support ownership management. Git repo volumes support SELinux relabeling.\n\nDEPRECATED: GitRepo is deprecated. To provision a container with a git repo, mount an EmptyDir into an InitContainer that clones the repo using git, then mount the EmptyDir into the Pod's container.",
  "f": [
   {
    "j": "repository",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "repository is the URL"
   },
   {
    "j": "revision",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "revision is the commit hash for the specified revision."
   },
   {
    "j": "directory",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "directory is the target directory name. Must not contain or start with '..'.  If '.' is supplied, the volume directory will be the git repository.  Otherwise, if specified, the volume will contain the git repository in the subdirectory with the given name."
   }
  ]
 },
 "io.k8s.api.core.v1.GlusterfsPersistentVolumeSource": {
  "go": "v1.GlusterfsPersistentVolumeSource",
  "d": "Represents a Glusterfs mount that lasts the lifetime of a pod. Glusterfs volumes do not support ownership management or SELinux relabeling.",
  "f": [
   {
    "j": "endpoints",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "endpoints is the endpoint name that details Glusterfs topology. More info: https://examples.k8s.io/volumes/glusterfs/README.md#create-a-pod"
   },
   {
    "j": "path",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "path is the Glusterfs volume path. More info: https://examples.k8s.io/volumes/glusterfs/README.md#create-a-pod"
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 3,
    "d": "readOnly here will force the Glusterfs volume to be mounted with read-only permissions. Defaults to false. More info: https://examples.k8s.io/volumes/glusterfs/README.md#create-a-pod"
   },
   {
    "j": "endpointsNamespace",
    "t": "*string",
    "o": 1,
    "p": 4,
    "d": "endpointsNamespace is the namespace that contains Glusterfs endpoint. If this field is empty, the EndpointNamespace defaults to the same namespace as the bound PVC. More info: https://examples.k8s.io/volumes/glusterfs/README.md#create-a-pod"
   }
  ]
 },
 "io.k8s.api.core.v1.GlusterfsVolumeSource": {
  "go": "v1.GlusterfsVolumeSource",
  "d": "Represents a Glusterfs mount that lasts the lifetime of a pod. Glusterfs volumes do not support ownership management or SELinux relabeling.",
  "f": [
   {
    "j": "endpoints",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "endpoints is the endpoint name that details Glusterfs topology."
   },
   {
    "j": "path",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "path is the Glusterfs volume path. More info: https://examples.k8s.io/volumes/glusterfs/README.md#create-a-pod"
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 3,
    "d": "readOnly here will force the Glusterfs volume to be mounted with read-only permissions. Defaults to false. More info: https://examples.k8s.io/volumes/glusterfs/README.md#create-a-pod"
   }
  ]
 },
 "io.k8s.api.core.v1.HTTPGetAction": {
  "go": "v1.HTTPGetAction",
  "d": "HTTPGetAction describes an action based on HTTP Get requests.",
  "f": [
   {
    "j": "path",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Path to access on the HTTP server."
   },
   {
    "j": "port",
    "t": "@io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "p": 2,
    "req": 1,
    "d": "Name or number of the port to access on the container. Number must be in the range 1 to 65535. Name must be an IANA_SVC_NAME."
   },
   {
    "j": "host",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "Host name to connect to, defaults to the pod IP. You probably want to set \"Host\" in httpHeaders instead."
   },
   {
    "j": "scheme",
    "t": "@io.k8s.api.core.v1.URIScheme",
    "o": 1,
    "p": 4,
    "d": "Scheme to use for connecting to the host. Defaults to HTTP."
   },
   {
    "j": "httpHeaders",
    "t": "[]@io.k8s.api.core.v1.HTTPHeader",
    "o": 1,
    "p": 5,
    "lt": "atomic",
    "d": "Custom headers to set in the request. HTTP allows repeated headers."
   },
   {
    "j": "protocol",
    "t": "*@io.k8s.api.core.v1.HTTPProtocol",
    "o": 1,
    "p": 6,
    "d": "Protocol selects the wire protocol for the probe connection. Nil defaults to HTTP/1.1."
   }
  ]
 },
 "io.k8s.api.core.v1.HTTPHeader": {
  "go": "v1.HTTPHeader",
  "d": "HTTPHeader describes a custom header to be used in HTTP probes",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "The header field name. This will be canonicalized upon output, so case-variant names will be understood as the same header."
   },
   {
    "j": "value",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "The header field value"
   }
  ]
 },
 "io.k8s.api.core.v1.HTTPProtocol": {
  "go": "v1.HTTPProtocol",
  "u": "string"
 },
 "io.k8s.api.core.v1.HostAlias": {
  "go": "v1.HostAlias",
  "d": "HostAlias holds the mapping between IP and hostnames that will be injected as an entry in the pod's hosts file.",
  "f": [
   {
    "j": "ip",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "IP address of the host file entry."
   },
   {
    "j": "hostnames",
    "t": "[]string",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "Hostnames for the above IP address."
   }
  ]
 },
 "io.k8s.api.core.v1.HostIP": {
  "go": "v1.HostIP",
  "d": "HostIP represents a single IP address allocated to the host.",
  "f": [
   {
    "j": "ip",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "IP is the IP address assigned to the host"
   }
  ]
 },
 "io.k8s.api.core.v1.HostPathType": {
  "go": "v1.HostPathType",
  "u": "string"
 },
 "io.k8s.api.core.v1.HostPathVolumeSource": {
  "go": "v1.HostPathVolumeSource",
  "d": "Represents a host path mapped into a pod. Host path volumes do not support ownership management or SELinux relabeling.",
  "f": [
   {
    "j": "path",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "path of the directory on the host. If the path is a symlink, it will follow the link to the real path. More info: https://kubernetes.io/docs/concepts/storage/volumes#hostpath"
   },
   {
    "j": "type",
    "t": "*@io.k8s.api.core.v1.HostPathType",
    "o": 1,
    "p": 2,
    "d": "type for HostPath Volume Defaults to \"\" More info: https://kubernetes.io/docs/concepts/storage/volumes#hostpath"
   }
  ]
 },
 "io.k8s.api.core.v1.IPFamily": {
  "go": "v1.IPFamily",
  "u": "string"
 },
 "io.k8s.api.core.v1.IPFamilyPolicy": {
  "go": "v1.IPFamilyPolicy",
  "u": "string"
 },
 "io.k8s.api.core.v1.ISCSIPersistentVolumeSource": {
  "go": "v1.ISCSIPersistentVolumeSource",
  "d": "ISCSIPersistentVolumeSource represents an ISCSI disk. ISCSI volumes can only be mounted as read/write once. ISCSI volumes support ownership management and SELinux relabeling.",
  "f": [
   {
    "j": "targetPortal",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "targetPortal is iSCSI Target Portal. The Portal is either an IP or ip_addr:port if the port is other than default (typically TCP ports 860 and 3260)."
   },
   {
    "j": "iqn",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "iqn is Target iSCSI Qualified Name."
   },
   {
    "j": "lun",
    "t": "int32",
    "p": 3,
    "req": 1,
    "d": "lun is iSCSI Target Lun number."
   },
   {
    "j": "iscsiInterface",
    "t": "string",
    "o": 1,
    "p": 4,
    "def": "\"default\"",
    "d": "iscsiInterface is the interface Name that uses an iSCSI transport. Defaults to 'default' (tcp)."
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "fsType is the filesystem type of the volume that you want to mount. Tip: Ensure that the filesystem type is supported by the host operating system. Examples: \"ext4\", \"xfs\", \"ntfs\". Implicitly inferred to be \"ext4\" if unspecified. More info: https://kubernetes.io/docs/concepts/storage/volumes#iscsi"
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 6,
    "d": "readOnly here will force the ReadOnly setting in VolumeMounts. Defaults to false."
   },
   {
    "j": "portals",
    "t": "[]string",
    "o": 1,
    "p": 7,
    "lt": "atomic",
    "d": "portals is the iSCSI Target Portal List. The Portal is either an IP or ip_addr:port if the port is other than default (typically TCP ports 860 and 3260)."
   },
   {
    "j": "chapAuthDiscovery",
    "t": "bool",
    "o": 1,
    "p": 8,
    "d": "chapAuthDiscovery defines whether support iSCSI Discovery CHAP authentication"
   },
   {
    "j": "chapAuthSession",
    "t": "bool",
    "o": 1,
    "p": 11,
    "d": "chapAuthSession defines whether support iSCSI Session CHAP authentication"
   },
   {
    "j": "secretRef",
    "t": "*@io.k8s.api.core.v1.SecretReference",
    "o": 1,
    "p": 10,
    "d": "secretRef is the CHAP Secret for iSCSI target and initiator authentication"
   },
   {
    "j": "initiatorName",
    "t": "*string",
    "o": 1,
    "p": 12,
    "d": "initiatorName is the custom iSCSI Initiator Name. If initiatorName is specified with iscsiInterface simultaneously, new iSCSI interface <target portal>:<volume name> will be created for the connection."
   }
  ]
 },
 "io.k8s.api.core.v1.ISCSIVolumeSource": {
  "go": "v1.ISCSIVolumeSource",
  "d": "Represents an ISCSI disk. ISCSI volumes can only be mounted as read/write once. ISCSI volumes support ownership management and SELinux relabeling.",
  "f": [
   {
    "j": "targetPortal",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "targetPortal is iSCSI Target Portal. The Portal is either an IP or ip_addr:port if the port is other than default (typically TCP ports 860 and 3260)."
   },
   {
    "j": "iqn",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "iqn is the target iSCSI Qualified Name."
   },
   {
    "j": "lun",
    "t": "int32",
    "p": 3,
    "req": 1,
    "d": "lun represents iSCSI Target Lun number."
   },
   {
    "j": "iscsiInterface",
    "t": "string",
    "o": 1,
    "p": 4,
    "def": "\"default\"",
    "d": "iscsiInterface is the interface Name that uses an iSCSI transport. Defaults to 'default' (tcp)."
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "fsType is the filesystem type of the volume that you want to mount. Tip: Ensure that the filesystem type is supported by the host operating system. Examples: \"ext4\", \"xfs\", \"ntfs\". Implicitly inferred to be \"ext4\" if unspecified. More info: https://kubernetes.io/docs/concepts/storage/volumes#iscsi"
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 6,
    "d": "readOnly here will force the ReadOnly setting in VolumeMounts. Defaults to false."
   },
   {
    "j": "portals",
    "t": "[]string",
    "o": 1,
    "p": 7,
    "lt": "atomic",
    "d": "portals is the iSCSI Target Portal List. The portal is either an IP or ip_addr:port if the port is other than default (typically TCP ports 860 and 3260)."
   },
   {
    "j": "chapAuthDiscovery",
    "t": "bool",
    "o": 1,
    "p": 8,
    "d": "chapAuthDiscovery defines whether support iSCSI Discovery CHAP authentication"
   },
   {
    "j": "chapAuthSession",
    "t": "bool",
    "o": 1,
    "p": 11,
    "d": "chapAuthSession defines whether support iSCSI Session CHAP authentication"
   },
   {
    "j": "secretRef",
    "t": "*@io.k8s.api.core.v1.LocalObjectReference",
    "o": 1,
    "p": 10,
    "d": "secretRef is the CHAP Secret for iSCSI target and initiator authentication"
   },
   {
    "j": "initiatorName",
    "t": "*string",
    "o": 1,
    "p": 12,
    "d": "initiatorName is the custom iSCSI Initiator Name. If initiatorName is specified with iscsiInterface simultaneously, new iSCSI interface <target portal>:<volume name> will be created for the connection."
   }
  ]
 },
 "io.k8s.api.core.v1.ImageVolumeSource": {
  "go": "v1.ImageVolumeSource",
  "d": "ImageVolumeSource represents a image volume resource.",
  "f": [
   {
    "j": "reference",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Required: Image or artifact reference to be used. Behaves in the same way as pod.spec.containers[*].image. Pull secrets will be assembled in the same way as for the container image by looking up node credentials, SA image pull secrets, and pod spec image pull secrets. More info: https://kubernetes.io/docs/concepts/containers/images This field is optional to allow higher level config management to default or override container images in workload controllers like Deployments and StatefulSets."
   },
   {
    "j": "pullPolicy",
    "t": "@io.k8s.api.core.v1.PullPolicy",
    "o": 1,
    "p": 2,
    "d": "Policy for pulling OCI objects. Possible values are: Always: the kubelet always attempts to pull the reference. Container creation will fail If the pull fails. Never: the kubelet never pulls the reference and only uses a local image or artifact. Container creation will fail if the reference isn't present. IfNotPresent: the kubelet pulls if the reference isn't already present on disk. Container creation will fail if the reference isn't present and the pull fails. Defaults to Always if :latest tag is specified, or IfNotPresent otherwise."
   }
  ]
 },
 "io.k8s.api.core.v1.ImageVolumeStatus": {
  "go": "v1.ImageVolumeStatus",
  "d": "ImageVolumeStatus represents the image-based volume status.",
  "f": [
   {
    "j": "imageRef",
    "t": "string",
    "o": 1,
    "p": 1,
    "req": 1,
    "d": "ImageRef is the digest of the image used for this volume. It should have a value that's similar to the pod's status.containerStatuses[i].imageID. The ImageRef length should not exceed 256 characters."
   }
  ]
 },
 "io.k8s.api.core.v1.KeyToPath": {
  "go": "v1.KeyToPath",
  "d": "Maps a string key to a path within a volume.",
  "f": [
   {
    "j": "key",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "key is the key to project."
   },
   {
    "j": "path",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "path is the relative path of the file to map the key to. May not be an absolute path. May not contain the path element '..'. May not start with the string '..'."
   },
   {
    "j": "mode",
    "t": "*int32",
    "o": 1,
    "p": 3,
    "d": "mode is Optional: mode bits used to set permissions on this file. Must be an octal value between 0000 and 0777 or a decimal value between 0 and 511. YAML accepts both octal and decimal values, JSON requires decimal values for mode bits. If not specified, the volume defaultMode will be used. This might be in conflict with other options that affect the file mode, like fsGroup, and the result can be other mode bits set."
   },
   {
    "j": "user",
    "t": "*int64",
    "o": 1,
    "p": 4,
    "d": "user is Optional: The owner UID of the created file. If specified, the item-level user field takes precedence over defaultUser. (Alpha) This field requires the AtomicWriteVolumeUserFields feature gate to be enabled."
   }
  ]
 },
 "io.k8s.api.core.v1.Lifecycle": {
  "go": "v1.Lifecycle",
  "d": "Lifecycle describes actions that the management system should take in response to container lifecycle events. For the PostStart and PreStop lifecycle handlers, management of the container blocks until the action is complete, unless the container process fails, in which case the handler is aborted.",
  "f": [
   {
    "j": "postStart",
    "t": "*@io.k8s.api.core.v1.LifecycleHandler",
    "o": 1,
    "p": 1,
    "d": "PostStart is called immediately after a container is created. If the handler fails, the container is terminated and restarted according to its restart policy. Other management of the container blocks until the hook completes. More info: https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#container-hooks"
   },
   {
    "j": "preStop",
    "t": "*@io.k8s.api.core.v1.LifecycleHandler",
    "o": 1,
    "p": 2,
    "d": "PreStop is called immediately before a container is terminated due to an API request or management event such as liveness/startup probe failure, preemption, resource contention, etc. The handler is not called if the container crashes or exits. The Pod's termination grace period countdown begins before the PreStop hook is executed. Regardless of the outcome of the handler, the container will eventually terminate within the Pod's termination grace period (unless delayed by finalizers). Other management of the container blocks until the hook completes or until the termination grace period is reached. More info: https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#container-hooks"
   },
   {
    "j": "stopSignal",
    "t": "*@io.k8s.api.core.v1.Signal",
    "o": 1,
    "p": 3,
    "d": "StopSignal defines which signal will be sent to a container when it is being stopped. If not specified, the default is defined by the container runtime in use. StopSignal can only be set for Pods with a non-empty .spec.os.name"
   }
  ]
 },
 "io.k8s.api.core.v1.LifecycleHandler": {
  "go": "v1.LifecycleHandler",
  "d": "LifecycleHandler defines a specific action that should be taken in a lifecycle hook. One and only one of the fields, except TCPSocket must be specified.",
  "f": [
   {
    "j": "exec",
    "t": "*@io.k8s.api.core.v1.ExecAction",
    "o": 1,
    "p": 1,
    "d": "Exec specifies a command to execute in the container."
   },
   {
    "j": "httpGet",
    "t": "*@io.k8s.api.core.v1.HTTPGetAction",
    "o": 1,
    "p": 2,
    "d": "HTTPGet specifies an HTTP GET request to perform."
   },
   {
    "j": "tcpSocket",
    "t": "*@io.k8s.api.core.v1.TCPSocketAction",
    "o": 1,
    "p": 3,
    "d": "Deprecated. TCPSocket is NOT supported as a LifecycleHandler and kept for backward compatibility. There is no validation of this field and lifecycle hooks will fail at runtime when it is specified."
   },
   {
    "j": "sleep",
    "t": "*@io.k8s.api.core.v1.SleepAction",
    "o": 1,
    "p": 4,
    "d": "Sleep represents a duration that the container should sleep."
   }
  ]
 },
 "io.k8s.api.core.v1.LimitRange": {
  "go": "v1.LimitRange",
  "d": "LimitRange sets resource usage limits for each kind of resource in a Namespace.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.core.v1.LimitRangeSpec",
    "o": 1,
    "p": 2,
    "d": "Spec defines the limits enforced. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.core.v1.LimitRangeItem": {
  "go": "v1.LimitRangeItem",
  "d": "LimitRangeItem defines a min/max usage limit for any resource that matches on kind.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.core.v1.LimitType",
    "p": 1,
    "req": 1,
    "d": "Type of resource that this limit applies to."
   },
   {
    "j": "max",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 2,
    "d": "Max usage constraints on this kind by resource name."
   },
   {
    "j": "min",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 3,
    "d": "Min usage constraints on this kind by resource name."
   },
   {
    "j": "default",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 4,
    "d": "Default resource requirement limit value by resource name if resource limit is omitted."
   },
   {
    "j": "defaultRequest",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 5,
    "d": "DefaultRequest is the default resource requirement request value by resource name if resource request is omitted."
   },
   {
    "j": "maxLimitRequestRatio",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 6,
    "d": "MaxLimitRequestRatio if specified, the named resource must have a request and limit that are both non-zero where limit divided by request is less than or equal to the enumerated value; this represents the max burst for the named resource."
   }
  ]
 },
 "io.k8s.api.core.v1.LimitRangeList": {
  "go": "v1.LimitRangeList",
  "d": "LimitRangeList is a list of LimitRange items.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.LimitRange",
    "p": 2,
    "req": 1,
    "d": "Items is a list of LimitRange objects. More info: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"
   }
  ]
 },
 "io.k8s.api.core.v1.LimitRangeSpec": {
  "go": "v1.LimitRangeSpec",
  "d": "LimitRangeSpec defines a min/max usage limit for resources that match on kind.",
  "f": [
   {
    "j": "limits",
    "t": "[]@io.k8s.api.core.v1.LimitRangeItem",
    "p": 1,
    "lt": "atomic",
    "req": 1,
    "d": "Limits is the list of LimitRangeItem objects that are enforced."
   }
  ]
 },
 "io.k8s.api.core.v1.LimitType": {
  "go": "v1.LimitType",
  "u": "string"
 },
 "io.k8s.api.core.v1.LinuxContainerUser": {
  "go": "v1.LinuxContainerUser",
  "d": "LinuxContainerUser represents user identity information in Linux containers",
  "f": [
   {
    "j": "uid",
    "t": "int64",
    "p": 1,
    "req": 1,
    "d": "UID is the primary uid initially attached to the first process in the container"
   },
   {
    "j": "gid",
    "t": "int64",
    "p": 2,
    "req": 1,
    "d": "GID is the primary gid initially attached to the first process in the container"
   },
   {
    "j": "supplementalGroups",
    "t": "[]int64",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "SupplementalGroups are the supplemental groups initially attached to the first process in the container"
   }
  ]
 },
 "io.k8s.api.core.v1.LoadBalancerIPMode": {
  "go": "v1.LoadBalancerIPMode",
  "u": "string"
 },
 "io.k8s.api.core.v1.LoadBalancerIngress": {
  "go": "v1.LoadBalancerIngress",
  "d": "LoadBalancerIngress represents the status of a load-balancer ingress point: traffic intended for the service should be sent to an ingress point.",
  "f": [
   {
    "j": "ip",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "IP is set for load-balancer ingress points that are IP based (typically GCE or OpenStack load-balancers)"
   },
   {
    "j": "hostname",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "Hostname is set for load-balancer ingress points that are DNS based (typically AWS load-balancers)"
   },
   {
    "j": "ipMode",
    "t": "*@io.k8s.api.core.v1.LoadBalancerIPMode",
    "o": 1,
    "p": 3,
    "d": "IPMode specifies how the load-balancer IP behaves, and may only be specified when the ip field is specified. Setting this to \"VIP\" indicates that traffic is delivered to the node with the destination set to the load-balancer's IP and port. Setting this to \"Proxy\" indicates that traffic is delivered to the node or pod with the destination set to the node's IP and node port or the pod's IP and port. Service implementations may use this information to adjust traffic routing."
   },
   {
    "j": "ports",
    "t": "[]@io.k8s.api.core.v1.PortStatus",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "Ports is a list of records of service ports If used, every port defined in the service should have an entry in it"
   }
  ]
 },
 "io.k8s.api.core.v1.LoadBalancerStatus": {
  "go": "v1.LoadBalancerStatus",
  "d": "LoadBalancerStatus represents the status of a load-balancer.",
  "f": [
   {
    "j": "ingress",
    "t": "[]@io.k8s.api.core.v1.LoadBalancerIngress",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "Ingress is a list containing ingress points for the load-balancer. Traffic intended for the service should be sent to these ingress points."
   }
  ]
 },
 "io.k8s.api.core.v1.LocalObjectReference": {
  "go": "v1.LocalObjectReference",
  "d": "LocalObjectReference contains enough information to let you locate the referenced object inside the same namespace.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "o": 1,
    "p": 1,
    "def": "\"\"",
    "d": "Name of the referent. This field is effectively required, but due to backwards compatibility is allowed to be empty. Instances of this type with an empty value here are almost certainly wrong. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names"
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.core.v1.LocalVolumeSource": {
  "go": "v1.LocalVolumeSource",
  "d": "Local represents directly-attached storage with node affinity",
  "f": [
   {
    "j": "path",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "path of the full path to the volume on the node. It can be either a directory or block device (disk, partition, ...)."
   },
   {
    "j": "fsType",
    "t": "*string",
    "o": 1,
    "p": 2,
    "d": "fsType is the filesystem type to mount. It applies only when the Path is a block device. Must be a filesystem type supported by the host operating system. Ex. \"ext4\", \"xfs\", \"ntfs\". The default value is to auto-select a filesystem if unspecified."
   }
  ]
 },
 "io.k8s.api.core.v1.ModifyVolumeStatus": {
  "go": "v1.ModifyVolumeStatus",
  "d": "ModifyVolumeStatus represents the status object of ControllerModifyVolume operation",
  "f": [
   {
    "j": "targetVolumeAttributesClassName",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "targetVolumeAttributesClassName is the name of the VolumeAttributesClass the PVC currently being reconciled"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.PersistentVolumeClaimModifyVolumeStatus",
    "p": 2,
    "req": 1,
    "d": "status is the status of the ControllerModifyVolume operation. It can be in any of following states:\n - Pending\n   Pending indicates that the PersistentVolumeClaim cannot be modified due to unmet requirements, such as\n   the specified VolumeAttributesClass not existing.\n - InProgress\n   InProgress indicates that the volume is being modified.\n - Infeasible\n  Infeasible indicates that the request has been rejected as invalid by the CSI driver. To\n\t  resolve the error, a valid VolumeAttributesClass needs to be specified.\nNote: New statuses can be added in the future. Consumers should check for unknown statuses and fail appropriately."
   }
  ]
 },
 "io.k8s.api.core.v1.MountPropagationMode": {
  "go": "v1.MountPropagationMode",
  "u": "string"
 },
 "io.k8s.api.core.v1.NFSVolumeSource": {
  "go": "v1.NFSVolumeSource",
  "d": "Represents an NFS mount that lasts the lifetime of a pod. NFS volumes do not support ownership management or SELinux relabeling.",
  "f": [
   {
    "j": "server",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "server is the hostname or IP address of the NFS server. More info: https://kubernetes.io/docs/concepts/storage/volumes#nfs"
   },
   {
    "j": "path",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "path that is exported by the NFS server. More info: https://kubernetes.io/docs/concepts/storage/volumes#nfs"
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 3,
    "d": "readOnly here will force the NFS export to be mounted with read-only permissions. Defaults to false. More info: https://kubernetes.io/docs/concepts/storage/volumes#nfs"
   }
  ]
 },
 "io.k8s.api.core.v1.Namespace": {
  "go": "v1.Namespace",
  "d": "Namespace provides a scope for Names. Use of multiple namespaces is optional.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.core.v1.NamespaceSpec",
    "o": 1,
    "p": 2,
    "d": "Spec defines the behavior of the Namespace. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.NamespaceStatus",
    "o": 1,
    "p": 3,
    "d": "Status describes the current status of a Namespace. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.core.v1.NamespaceCondition": {
  "go": "v1.NamespaceCondition",
  "d": "NamespaceCondition contains details about state of namespace.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.core.v1.NamespaceConditionType",
    "p": 1,
    "req": 1,
    "d": "Type of namespace controller condition."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ConditionStatus",
    "p": 2,
    "req": 1,
    "d": "Status of the condition, one of True, False, Unknown."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 4,
    "d": "Last time the condition transitioned from one status to another."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "Unique, one-word, CamelCase reason for the condition's last transition."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "Human-readable message indicating details about last transition."
   }
  ]
 },
 "io.k8s.api.core.v1.NamespaceConditionType": {
  "go": "v1.NamespaceConditionType",
  "u": "string"
 },
 "io.k8s.api.core.v1.NamespaceList": {
  "go": "v1.NamespaceList",
  "d": "NamespaceList is a list of Namespaces.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.Namespace",
    "p": 2,
    "req": 1,
    "d": "Items is the list of Namespace objects in the list. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/"
   }
  ]
 },
 "io.k8s.api.core.v1.NamespacePhase": {
  "go": "v1.NamespacePhase",
  "u": "string"
 },
 "io.k8s.api.core.v1.NamespaceSpec": {
  "go": "v1.NamespaceSpec",
  "d": "NamespaceSpec describes the attributes on a Namespace.",
  "f": [
   {
    "j": "finalizers",
    "t": "[]@io.k8s.api.core.v1.FinalizerName",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "Finalizers is an opaque list of values that must be empty to permanently remove object from storage. More info: https://kubernetes.io/docs/tasks/administer-cluster/namespaces/"
   }
  ]
 },
 "io.k8s.api.core.v1.NamespaceStatus": {
  "go": "v1.NamespaceStatus",
  "d": "NamespaceStatus is information about the current status of a Namespace.",
  "f": [
   {
    "j": "phase",
    "t": "@io.k8s.api.core.v1.NamespacePhase",
    "o": 1,
    "p": 1,
    "d": "Phase is the current lifecycle phase of the namespace. More info: https://kubernetes.io/docs/tasks/administer-cluster/namespaces/"
   },
   {
    "j": "conditions",
    "t": "[]@io.k8s.api.core.v1.NamespaceCondition",
    "o": 1,
    "p": 2,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "Represents the latest available observations of a namespace's current state."
   }
  ]
 },
 "io.k8s.api.core.v1.Node": {
  "go": "v1.Node",
  "d": "Node is a worker node in Kubernetes. Each node will have a unique identifier in the cache (i.e. in etcd).",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.core.v1.NodeSpec",
    "o": 1,
    "p": 2,
    "d": "Spec defines the behavior of a node. https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.NodeStatus",
    "o": 1,
    "p": 3,
    "d": "Most recently observed status of the node. Populated by the system. Read-only. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.core.v1.NodeAddress": {
  "go": "v1.NodeAddress",
  "d": "NodeAddress contains information for the node's address.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.core.v1.NodeAddressType",
    "p": 1,
    "req": 1,
    "d": "Node address type, one of Hostname, ExternalIP or InternalIP."
   },
   {
    "j": "address",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "The node address."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeAddressType": {
  "go": "v1.NodeAddressType",
  "u": "string"
 },
 "io.k8s.api.core.v1.NodeAffinity": {
  "go": "v1.NodeAffinity",
  "d": "Node affinity is a group of node affinity scheduling rules.",
  "f": [
   {
    "j": "requiredDuringSchedulingIgnoredDuringExecution",
    "t": "*@io.k8s.api.core.v1.NodeSelector",
    "o": 1,
    "p": 1,
    "d": "If the affinity requirements specified by this field are not met at scheduling time, the pod will not be scheduled onto the node. If the affinity requirements specified by this field cease to be met at some point during pod execution (e.g. due to an update), the system may or may not try to eventually evict the pod from its node."
   },
   {
    "j": "preferredDuringSchedulingIgnoredDuringExecution",
    "t": "[]@io.k8s.api.core.v1.PreferredSchedulingTerm",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "The scheduler will prefer to schedule pods to nodes that satisfy the affinity expressions specified by this field, but it may choose a node that violates one or more of the expressions. The node that is most preferred is the one with the greatest sum of weights, i.e. for each node that meets all of the scheduling requirements (resource request, requiredDuringScheduling affinity expressions, etc.), compute a sum by iterating through the elements of this field and adding \"weight\" to the sum if the node matches the corresponding matchExpressions; the node(s) with the highest sum are the most preferred."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeAllocatableMappedResources": {
  "go": "v1.NodeAllocatableMappedResources",
  "d": "NodeAllocatableMappedResources describes mapped node allocatable resource allocations.",
  "f": [
   {
    "j": "name",
    "t": "@io.k8s.api.core.v1.ResourceName",
    "p": 1,
    "req": 1,
    "d": "Name is the name of the resource (e.g., cpu, memory)."
   },
   {
    "j": "quantity",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "p": 2,
    "req": 1,
    "d": "Quantity is the total node allocatable resource capacity allocated for the claim. This claim's allocated devices is shared by all the containers referencing the claim. Kubelet adds this value to both requests and limits at the pod-level cgroup, and to limits at the container-level cgroup for each container referencing the claim."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeAllocatableOverheadResources": {
  "go": "v1.NodeAllocatableOverheadResources",
  "d": "NodeAllocatableOverheadResources describes auxiliary overhead resource allocations.",
  "f": [
   {
    "j": "name",
    "t": "@io.k8s.api.core.v1.ResourceName",
    "p": 1,
    "req": 1,
    "d": "Name is the name of the resource (e.g., cpu, memory)."
   },
   {
    "j": "perPod",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 2,
    "d": "PerPod is the flat overhead quantity allocated per pod. Adding to each container limit allows individual containers to utilize the overhead, while the parent pod-level cgroup limit caps the total usage at the pod boundary where the overhead is accounted for exactly once. At least one of PerPod or PerContainer must be specified. Specifying neither is an invalid configuration."
   },
   {
    "j": "perContainer",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 3,
    "d": "PerContainer is the variable overhead quantity applied for each container referencing the claim. The container references are recorded in `nodeAllocatableResourceClaimStatuses.containers`. The total overhead quantity allocated for the claim is computed as: Quantity = PerPod + (PerContainer * NumReferences) Kubelet accounts for this overhead in cgroups: - Pod-level cgroup (requests and limits): Kubelet adds PerPod + (PerContainer * NumReferences). - Container-level cgroup (limits only): Kubelet adds PerPod + PerContainer for each referencing container. This allows any single container to access the pod-level overhead, while the parent cgroup caps the total usage to account for PerPod exactly once. At least one of PerPod or PerContainer must be specified. Specifying neither is an invalid configuration."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeAllocatableResourceClaimStatus": {
  "go": "v1.NodeAllocatableResourceClaimStatus",
  "d": "NodeAllocatableResourceClaimStatus describes the status of node allocatable resources allocated via DRA.",
  "f": [
   {
    "j": "resourceClaimName",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "ResourceClaimName is the resource claim referenced by the pod that resulted in this node allocatable resource allocation."
   },
   {
    "j": "containers",
    "t": "[]string",
    "o": 1,
    "p": 2,
    "lt": "set",
    "d": "Containers lists the names of all containers in this pod that reference the claim."
   },
   {
    "j": "mapping",
    "t": "[]@io.k8s.api.core.v1.NodeAllocatableMappedResources",
    "o": 1,
    "p": 4,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "Mapping contains allocations through devices mapped in the device spec's `nodeAllocatableResources[...].mapping` field. This is used by kubelet for pod level and container-level cgroup enforcement."
   },
   {
    "j": "overhead",
    "t": "[]@io.k8s.api.core.v1.NodeAllocatableOverheadResources",
    "o": 1,
    "p": 5,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "Overhead contains allocations through devices mapped in the device spec's `nodeAllocatableResources[...].overhead` field. This is used by kubelet for pod level and container-level cgroup enforcement."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeCondition": {
  "go": "v1.NodeCondition",
  "d": "NodeCondition contains condition information for a node.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.core.v1.NodeConditionType",
    "p": 1,
    "req": 1,
    "d": "Type of node condition."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ConditionStatus",
    "p": 2,
    "req": 1,
    "d": "Status of the condition, one of True, False, Unknown."
   },
   {
    "j": "lastHeartbeatTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 3,
    "d": "Last time we got an update on a given condition."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 4,
    "d": "Last time the condition transit from one status to another."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "(brief) reason for the condition's last transition."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "Human readable message indicating details about last transition."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeConditionType": {
  "go": "v1.NodeConditionType",
  "u": "string"
 },
 "io.k8s.api.core.v1.NodeConfigSource": {
  "go": "v1.NodeConfigSource",
  "d": "NodeConfigSource specifies a source of node configuration. Exactly one subfield (excluding metadata) must be non-nil. This API is deprecated since 1.22",
  "f": [
   {
    "j": "configMap",
    "t": "*@io.k8s.api.core.v1.ConfigMapNodeConfigSource",
    "o": 1,
    "p": 2,
    "d": "ConfigMap is a reference to a Node's ConfigMap"
   }
  ]
 },
 "io.k8s.api.core.v1.NodeConfigStatus": {
  "go": "v1.NodeConfigStatus",
  "d": "NodeConfigStatus describes the status of the config assigned by Node.Spec.ConfigSource.",
  "f": [
   {
    "j": "assigned",
    "t": "*@io.k8s.api.core.v1.NodeConfigSource",
    "o": 1,
    "p": 1,
    "d": "Assigned reports the checkpointed config the node will try to use. When Node.Spec.ConfigSource is updated, the node checkpoints the associated config payload to local disk, along with a record indicating intended config. The node refers to this record to choose its config checkpoint, and reports this record in Assigned. Assigned only updates in the status after the record has been checkpointed to disk. When the Kubelet is restarted, it tries to make the Assigned config the Active config by loading and validating the checkpointed payload identified by Assigned."
   },
   {
    "j": "active",
    "t": "*@io.k8s.api.core.v1.NodeConfigSource",
    "o": 1,
    "p": 2,
    "d": "Active reports the checkpointed config the node is actively using. Active will represent either the current version of the Assigned config, or the current LastKnownGood config, depending on whether attempting to use the Assigned config results in an error."
   },
   {
    "j": "lastKnownGood",
    "t": "*@io.k8s.api.core.v1.NodeConfigSource",
    "o": 1,
    "p": 3,
    "d": "LastKnownGood reports the checkpointed config the node will fall back to when it encounters an error attempting to use the Assigned config. The Assigned config becomes the LastKnownGood config when the node determines that the Assigned config is stable and correct. This is currently implemented as a 10-minute soak period starting when the local record of Assigned config is updated. If the Assigned config is Active at the end of this period, it becomes the LastKnownGood. Note that if Spec.ConfigSource is reset to nil (use local defaults), the LastKnownGood is also immediately reset to nil, because the local default config is always assumed good. You should not make assumptions about the node's method of determining config stability and correctness, as this may change or become configurable in the future."
   },
   {
    "j": "error",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "Error describes any problems reconciling the Spec.ConfigSource to the Active config. Errors may occur, for example, attempting to checkpoint Spec.ConfigSource to the local Assigned record, attempting to checkpoint the payload associated with Spec.ConfigSource, attempting to load or validate the Assigned config, etc. Errors may occur at different points while syncing config. Earlier errors (e.g. download or checkpointing errors) will not result in a rollback to LastKnownGood, and may resolve across Kubelet retries. Later errors (e.g. loading or validating a checkpointed config) will result in a rollback to LastKnownGood. In the latter case, it is usually possible to resolve the error by fixing the config assigned in Spec.ConfigSource. You can find additional information for debugging by searching the error message in the Kubelet log. Error is a human-readable description of the error state; machines can check whether or not Error is empty, but should not rely on the stability of the Error text across Kubelet versions."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeDaemonEndpoints": {
  "go": "v1.NodeDaemonEndpoints",
  "d": "NodeDaemonEndpoints lists ports opened by daemons running on the Node.",
  "f": [
   {
    "j": "kubeletEndpoint",
    "t": "@io.k8s.api.core.v1.DaemonEndpoint",
    "o": 1,
    "p": 1,
    "d": "Endpoint on which Kubelet is listening."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeFeatures": {
  "go": "v1.NodeFeatures",
  "d": "NodeFeatures describes the set of features implemented by the CRI implementation. The features contained in the NodeFeatures should depend only on the cri implementation independent of runtime handlers.",
  "f": [
   {
    "j": "supplementalGroupsPolicy",
    "t": "*bool",
    "o": 1,
    "p": 1,
    "d": "SupplementalGroupsPolicy is set to true if the runtime supports SupplementalGroupsPolicy and ContainerUser."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeInclusionPolicy": {
  "go": "v1.NodeInclusionPolicy",
  "u": "string"
 },
 "io.k8s.api.core.v1.NodeList": {
  "go": "v1.NodeList",
  "d": "NodeList is the whole list of all Nodes which have been registered with master.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.Node",
    "p": 2,
    "req": 1,
    "d": "List of nodes"
   }
  ]
 },
 "io.k8s.api.core.v1.NodePhase": {
  "go": "v1.NodePhase",
  "u": "string"
 },
 "io.k8s.api.core.v1.NodePodPreemptionPolicy": {
  "go": "v1.NodePodPreemptionPolicy",
  "d": "NodePodPreemptionPolicy defines the node-level policies governing preemption for pods on this node.",
  "f": [
   {
    "j": "disableResizePreemption",
    "t": "[]string",
    "o": 1,
    "p": 1,
    "lt": "set",
    "d": "DisableResizePreemption lists the owners (e.g., autoscalers, operators, administrators) that have requested to disable scheduler and Kubelet preemption for in-place pod resize on this node. If this list is non-empty, resize-induced preemption is disabled on this node. This is an alpha field and requires enabling the InPlacePodVerticalScalingSchedulerPreemption feature gate."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeProxyOptions": {
  "go": "v1.NodeProxyOptions",
  "d": "NodeProxyOptions is the query options to a Node's proxy call.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "path",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Path is the URL path to use for the current proxy request to node."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeRuntimeHandler": {
  "go": "v1.NodeRuntimeHandler",
  "d": "NodeRuntimeHandler is a set of runtime handler information.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "d": "Runtime handler name. Empty for the default runtime handler."
   },
   {
    "j": "features",
    "t": "*@io.k8s.api.core.v1.NodeRuntimeHandlerFeatures",
    "o": 1,
    "p": 2,
    "d": "Supported features."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeRuntimeHandlerFeatures": {
  "go": "v1.NodeRuntimeHandlerFeatures",
  "d": "NodeRuntimeHandlerFeatures is a set of features implemented by the runtime handler.",
  "f": [
   {
    "j": "recursiveReadOnlyMounts",
    "t": "*bool",
    "o": 1,
    "p": 1,
    "d": "RecursiveReadOnlyMounts is set to true if the runtime handler supports RecursiveReadOnlyMounts."
   },
   {
    "j": "userNamespaces",
    "t": "*bool",
    "o": 1,
    "p": 2,
    "d": "UserNamespaces is set to true if the runtime handler supports UserNamespaces, including for volumes."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeSelector": {
  "go": "v1.NodeSelector",
  "d": "A node selector represents the union of the results of one or more label queries over a set of nodes; that is, it represents the OR of the selectors represented by the node selector terms.",
  "f": [
   {
    "j": "nodeSelectorTerms",
    "t": "[]@io.k8s.api.core.v1.NodeSelectorTerm",
    "p": 1,
    "lt": "atomic",
    "req": 1,
    "d": "Required. A list of node selector terms. The terms are ORed."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.core.v1.NodeSelectorOperator": {
  "go": "v1.NodeSelectorOperator",
  "u": "string"
 },
 "io.k8s.api.core.v1.NodeSelectorRequirement": {
  "go": "v1.NodeSelectorRequirement",
  "d": "A node selector requirement is a selector that contains values, a key, and an operator that relates the key and values.",
  "f": [
   {
    "j": "key",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "The label key that the selector applies to."
   },
   {
    "j": "operator",
    "t": "@io.k8s.api.core.v1.NodeSelectorOperator",
    "p": 2,
    "req": 1,
    "d": "Represents a key's relationship to a set of values. Valid operators are In, NotIn, Exists, DoesNotExist. Gt, and Lt."
   },
   {
    "j": "values",
    "t": "[]string",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "An array of string values. If the operator is In or NotIn, the values array must be non-empty. If the operator is Exists or DoesNotExist, the values array must be empty. If the operator is Gt or Lt, the values array must have a single element, which will be interpreted as an integer. This array is replaced during a strategic merge patch."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeSelectorTerm": {
  "go": "v1.NodeSelectorTerm",
  "d": "A null or empty node selector term matches no objects. The requirements of them are ANDed. The TopologySelectorTerm type implements a subset of the NodeSelectorTerm.",
  "f": [
   {
    "j": "matchExpressions",
    "t": "[]@io.k8s.api.core.v1.NodeSelectorRequirement",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "A list of node selector requirements by node's labels."
   },
   {
    "j": "matchFields",
    "t": "[]@io.k8s.api.core.v1.NodeSelectorRequirement",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "A list of node selector requirements by node's fields."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.core.v1.NodeSpec": {
  "go": "v1.NodeSpec",
  "d": "NodeSpec describes the attributes that a node is created with.",
  "f": [
   {
    "j": "podCIDR",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "PodCIDR represents the pod IP range assigned to the node."
   },
   {
    "j": "podCIDRs",
    "t": "[]string",
    "o": 1,
    "p": 7,
    "ps": "merge",
    "lt": "set",
    "d": "podCIDRs represents the IP ranges assigned to the node for usage by Pods on that node. If this field is specified, the 0th entry must match the podCIDR field. It may contain at most 1 value for each of IPv4 and IPv6."
   },
   {
    "j": "providerID",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "ID of the node assigned by the cloud provider in the format: <ProviderName>://<ProviderSpecificNodeID>"
   },
   {
    "j": "unschedulable",
    "t": "bool",
    "o": 1,
    "p": 4,
    "d": "Unschedulable controls node schedulability of new pods. By default, node is schedulable. More info: https://kubernetes.io/docs/concepts/nodes/node/#manual-node-administration"
   },
   {
    "j": "taints",
    "t": "[]@io.k8s.api.core.v1.Taint",
    "o": 1,
    "p": 5,
    "lt": "atomic",
    "d": "If specified, the node's taints."
   },
   {
    "j": "configSource",
    "t": "*@io.k8s.api.core.v1.NodeConfigSource",
    "o": 1,
    "p": 6,
    "d": "Deprecated: Previously used to specify the source of the node's configuration for the DynamicKubeletConfig feature. This feature is removed."
   },
   {
    "j": "externalID",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "Deprecated. Not all kubelets will set this field. Remove field after 1.13. see: https://issues.k8s.io/61966"
   },
   {
    "j": "podPreemptionPolicy",
    "t": "*@io.k8s.api.core.v1.NodePodPreemptionPolicy",
    "o": 1,
    "p": 8,
    "d": "PodPreemptionPolicy controls the node-level preemption behaviors for pods on this node. This is an alpha field and requires enabling the InPlacePodVerticalScalingSchedulerPreemption feature gate."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeStatus": {
  "go": "v1.NodeStatus",
  "d": "NodeStatus is information about the current status of a node.",
  "f": [
   {
    "j": "capacity",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 1,
    "d": "Capacity represents the total resources of a node. More info: https://kubernetes.io/docs/reference/node/node-status/#capacity"
   },
   {
    "j": "allocatable",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 2,
    "d": "Allocatable represents the resources of a node that are available for scheduling. Defaults to Capacity."
   },
   {
    "j": "phase",
    "t": "@io.k8s.api.core.v1.NodePhase",
    "o": 1,
    "p": 3,
    "d": "NodePhase is the recently observed lifecycle phase of the node. More info: https://kubernetes.io/docs/concepts/nodes/node/#phase The field is never populated, and now is deprecated."
   },
   {
    "j": "conditions",
    "t": "[]@io.k8s.api.core.v1.NodeCondition",
    "o": 1,
    "p": 4,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "Conditions is an array of current observed node conditions. More info: https://kubernetes.io/docs/reference/node/node-status/#condition"
   },
   {
    "j": "addresses",
    "t": "[]@io.k8s.api.core.v1.NodeAddress",
    "o": 1,
    "p": 5,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "List of addresses reachable to the node. Queried from cloud provider, if available. More info: https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example. Consumers should assume that addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API (status.hostIP)."
   },
   {
    "j": "daemonEndpoints",
    "t": "@io.k8s.api.core.v1.NodeDaemonEndpoints",
    "o": 1,
    "p": 6,
    "d": "Endpoints of daemons running on the Node."
   },
   {
    "j": "nodeInfo",
    "t": "@io.k8s.api.core.v1.NodeSystemInfo",
    "o": 1,
    "p": 7,
    "d": "Set of ids/uuids to uniquely identify the node. More info: https://kubernetes.io/docs/reference/node/node-status/#info"
   },
   {
    "j": "images",
    "t": "[]@io.k8s.api.core.v1.ContainerImage",
    "o": 1,
    "p": 8,
    "lt": "atomic",
    "d": "List of container images on this node"
   },
   {
    "j": "volumesInUse",
    "t": "[]@io.k8s.api.core.v1.UniqueVolumeName",
    "o": 1,
    "p": 9,
    "lt": "atomic",
    "d": "List of attachable volumes in use (mounted) by the node."
   },
   {
    "j": "volumesAttached",
    "t": "[]@io.k8s.api.core.v1.AttachedVolume",
    "o": 1,
    "p": 10,
    "lt": "atomic",
    "d": "List of volumes that are attached to the node."
   },
   {
    "j": "config",
    "t": "*@io.k8s.api.core.v1.NodeConfigStatus",
    "o": 1,
    "p": 11,
    "d": "Status of the config assigned to the node via the dynamic Kubelet config feature."
   },
   {
    "j": "runtimeHandlers",
    "t": "[]@io.k8s.api.core.v1.NodeRuntimeHandler",
    "o": 1,
    "p": 12,
    "lt": "atomic",
    "d": "The available runtime handlers."
   },
   {
    "j": "features",
    "t": "*@io.k8s.api.core.v1.NodeFeatures",
    "o": 1,
    "p": 13,
    "d": "Features describes the set of features implemented by the CRI implementation."
   },
   {
    "j": "declaredFeatures",
    "t": "[]string",
    "o": 1,
    "p": 14,
    "lt": "atomic",
    "d": "DeclaredFeatures represents the features related to feature gates that are declared by the node."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeSwapStatus": {
  "go": "v1.NodeSwapStatus",
  "d": "NodeSwapStatus represents swap memory information.",
  "f": [
   {
    "j": "capacity",
    "t": "*int64",
    "o": 1,
    "p": 1,
    "d": "Total amount of swap memory in bytes."
   }
  ]
 },
 "io.k8s.api.core.v1.NodeSystemInfo": {
  "go": "v1.NodeSystemInfo",
  "d": "NodeSystemInfo is a set of ids/uuids to uniquely identify the node.",
  "f": [
   {
    "j": "machineID",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "MachineID reported by the node. For unique machine identification in the cluster this field is preferred. Learn more from man(5) machine-id: http://man7.org/linux/man-pages/man5/machine-id.5.html"
   },
   {
    "j": "systemUUID",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "SystemUUID reported by the node. For unique machine identification MachineID is preferred. This field is specific to Red Hat hosts https://access.redhat.com/documentation/en-us/red_hat_subscription_management/1/html/rhsm/uuid"
   },
   {
    "j": "bootID",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "Boot ID reported by the node."
   },
   {
    "j": "kernelVersion",
    "t": "string",
    "p": 4,
    "req": 1,
    "d": "Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64)."
   },
   {
    "j": "osImage",
    "t": "string",
    "p": 5,
    "req": 1,
    "d": "OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy))."
   },
   {
    "j": "containerRuntimeVersion",
    "t": "string",
    "p": 6,
    "req": 1,
    "d": "ContainerRuntime Version reported by the node through runtime remote API (e.g. containerd://1.4.2)."
   },
   {
    "j": "kubeletVersion",
    "t": "string",
    "p": 7,
    "req": 1,
    "d": "Kubelet Version reported by the node."
   },
   {
    "j": "kubeProxyVersion",
    "t": "string",
    "p": 8,
    "req": 1,
    "d": "Deprecated: KubeProxy Version reported by the node."
   },
   {
    "j": "operatingSystem",
    "t": "string",
    "p": 9,
    "req": 1,
    "d": "The Operating System reported by the node"
   },
   {
    "j": "architecture",
    "t": "string",
    "p": 10,
    "req": 1,
    "d": "The Architecture reported by the node"
   },
   {
    "j": "swap",
    "t": "*@io.k8s.api.core.v1.NodeSwapStatus",
    "o": 1,
    "p": 11,
    "d": "Swap Info reported by the node."
   },
   {
    "j": "runningInUserNamespace",
    "t": "*bool",
    "o": 1,
    "p": 12,
    "d": "Whether the node is running in a user namespace."
   }
  ]
 },
 "io.k8s.api.core.v1.OSName": {
  "go": "v1.OSName",
  "u": "string"
 },
 "io.k8s.api.core.v1.ObjectFieldSelector": {
  "go": "v1.ObjectFieldSelector",
  "d": "ObjectFieldSelector selects an APIVersioned field of an object.",
  "f": [
   {
    "j": "apiVersion",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Version of the schema the FieldPath is written in terms of, defaults to \"v1\"."
   },
   {
    "j": "fieldPath",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "Path of the field to select in the specified API version."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.core.v1.ObjectReference": {
  "go": "v1.ObjectReference",
  "d": "ObjectReference contains enough information to let you inspect or modify the referred object.",
  "f": [
   {
    "j": "kind",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Kind of the referent. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "namespace",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "Namespace of the referent. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/"
   },
   {
    "j": "name",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "Name of the referent. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names"
   },
   {
    "j": "uid",
    "t": "@io.k8s.apimachinery.pkg.types.UID",
    "o": 1,
    "p": 4,
    "d": "UID of the referent. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#uids"
   },
   {
    "j": "apiVersion",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "API version of the referent."
   },
   {
    "j": "resourceVersion",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "Specific resourceVersion to which this reference is made, if any. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#concurrency-control-and-consistency"
   },
   {
    "j": "fieldPath",
    "t": "string",
    "o": 1,
    "p": 7,
    "d": "If referring to a piece of an object instead of an entire object, this string should contain a valid JSON/Go field access statement, such as desiredState.manifest.containers[2]. For example, if the object reference is to a container within a pod, this would take on a value like: \"spec.containers{name}\" (where \"name\" refers to the name of the container that triggered the event) or if no container name is specified \"spec.containers[2]\" (container with index 2 in this pod). This syntax is chosen only to have some well-defined way of referencing a part of an object."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.core.v1.PersistentVolume": {
  "go": "v1.PersistentVolume",
  "d": "PersistentVolume (PV) is a storage resource provisioned by an administrator. It is analogous to a node. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.core.v1.PersistentVolumeSpec",
    "o": 1,
    "p": 2,
    "d": "spec defines a specification of a persistent volume owned by the cluster. Provisioned by an administrator. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#persistent-volumes"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.PersistentVolumeStatus",
    "o": 1,
    "p": 3,
    "d": "status represents the current information/status for the persistent volume. Populated by the system. Read-only. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#persistent-volumes"
   }
  ]
 },
 "io.k8s.api.core.v1.PersistentVolumeAccessMode": {
  "go": "v1.PersistentVolumeAccessMode",
  "u": "string"
 },
 "io.k8s.api.core.v1.PersistentVolumeClaim": {
  "go": "v1.PersistentVolumeClaim",
  "d": "PersistentVolumeClaim is a user's request for and claim to a persistent volume",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.core.v1.PersistentVolumeClaimSpec",
    "o": 1,
    "p": 2,
    "d": "spec defines the desired characteristics of a volume requested by a pod author. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#persistentvolumeclaims"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.PersistentVolumeClaimStatus",
    "o": 1,
    "p": 3,
    "d": "status represents the current information/status of a persistent volume claim. Read-only. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#persistentvolumeclaims"
   }
  ]
 },
 "io.k8s.api.core.v1.PersistentVolumeClaimCondition": {
  "go": "v1.PersistentVolumeClaimCondition",
  "d": "PersistentVolumeClaimCondition contains details about state of pvc",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.core.v1.PersistentVolumeClaimConditionType",
    "p": 1,
    "req": 1,
    "d": "Type is the type of the condition. More info: https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/persistent-volume-claim-v1/#:~:text=set%20to%20%27ResizeStarted%27.-,PersistentVolumeClaimCondition,-contains%20details%20about"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ConditionStatus",
    "p": 2,
    "req": 1,
    "d": "Status is the status of the condition. Can be True, False, Unknown. More info: https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/persistent-volume-claim-v1/#:~:text=state%20of%20pvc-,conditions.status,-(string)%2C%20required"
   },
   {
    "j": "lastProbeTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 3,
    "d": "lastProbeTime is the time we probed the condition."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 4,
    "d": "lastTransitionTime is the time the condition transitioned from one status to another."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "reason is a unique, this should be a short, machine understandable string that gives the reason for condition's last transition. If it reports \"Resizing\" that means the underlying persistent volume is being resized."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "message is the human-readable message indicating details about last transition."
   }
  ]
 },
 "io.k8s.api.core.v1.PersistentVolumeClaimConditionType": {
  "go": "v1.PersistentVolumeClaimConditionType",
  "u": "string"
 },
 "io.k8s.api.core.v1.PersistentVolumeClaimList": {
  "go": "v1.PersistentVolumeClaimList",
  "d": "PersistentVolumeClaimList is a list of PersistentVolumeClaim items.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.PersistentVolumeClaim",
    "p": 2,
    "req": 1,
    "d": "items is a list of persistent volume claims. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#persistentvolumeclaims"
   }
  ]
 },
 "io.k8s.api.core.v1.PersistentVolumeClaimModifyVolumeStatus": {
  "go": "v1.PersistentVolumeClaimModifyVolumeStatus",
  "u": "string"
 },
 "io.k8s.api.core.v1.PersistentVolumeClaimPhase": {
  "go": "v1.PersistentVolumeClaimPhase",
  "u": "string"
 },
 "io.k8s.api.core.v1.PersistentVolumeClaimSpec": {
  "go": "v1.PersistentVolumeClaimSpec",
  "d": "PersistentVolumeClaimSpec describes the common attributes of storage devices and allows a Source for provider-specific attributes",
  "f": [
   {
    "j": "accessModes",
    "t": "[]@io.k8s.api.core.v1.PersistentVolumeAccessMode",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "accessModes contains the desired access modes the volume should have. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes-1"
   },
   {
    "j": "selector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 4,
    "d": "selector is a label query over volumes to consider for binding."
   },
   {
    "j": "resources",
    "t": "@io.k8s.api.core.v1.VolumeResourceRequirements",
    "o": 1,
    "p": 2,
    "d": "resources represents the minimum resources the volume should have. Users are allowed to specify resource requirements that are lower than previous value but must still be higher than capacity recorded in the status field of the claim. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#resources"
   },
   {
    "j": "volumeName",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "volumeName is the binding reference to the PersistentVolume backing this claim."
   },
   {
    "j": "storageClassName",
    "t": "*string",
    "o": 1,
    "p": 5,
    "d": "storageClassName is the name of the StorageClass required by the claim. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#class-1"
   },
   {
    "j": "volumeMode",
    "t": "*@io.k8s.api.core.v1.PersistentVolumeMode",
    "o": 1,
    "p": 6,
    "d": "volumeMode defines what type of volume is required by the claim. Value of Filesystem is implied when not included in claim spec."
   },
   {
    "j": "dataSource",
    "t": "*@io.k8s.api.core.v1.TypedLocalObjectReference",
    "o": 1,
    "p": 7,
    "d": "dataSource field can be used to specify either: * An existing VolumeSnapshot object (snapshot.storage.k8s.io/VolumeSnapshot) * An existing PVC (PersistentVolumeClaim) If the provisioner or an external controller can support the specified data source, it will create a new volume based on the contents of the specified data source. dataSource contents will be copied to dataSourceRef, and dataSourceRef contents will be copied to dataSource when dataSourceRef.namespace is not specified. If the namespace is specified, then dataSourceRef will not be copied to dataSource."
   },
   {
    "j": "dataSourceRef",
    "t": "*@io.k8s.api.core.v1.TypedObjectReference",
    "o": 1,
    "p": 8,
    "d": "dataSourceRef specifies the object from which to populate the volume with data, if a non-empty volume is desired. This may be any object from a non-empty API group (non core object) or a PersistentVolumeClaim object. When this field is specified, volume binding will only succeed if the type of the specified object matches some installed volume populator or dynamic provisioner. This field will replace the functionality of the dataSource field and as such if both fields are non-empty, they must have the same value. For backwards compatibility, when namespace isn't specified in dataSourceRef, both fields (dataSource and dataSourceRef) will be set to the same value automatically if one of them is empty and the other is non-empty. When namespace is specified in dataSourceRef, dataSource isn't set to the same value and must be empty. There are three important differences between dataSource and dataSourceRef: * While dataSource only allows two specific types of objects, dataSourceRef\n  allows any non-core object, as well as PersistentVolumeClaim objects.\n* While dataSource ignores disallowed values (dropping them), dataSourceRef\n  preserves all values, and generates an error if a disallowed value is\n  specified.\n* While dataSource only allows local objects, dataSourceRef allows objects\n  in any namespaces.\n(Alpha) Using the namespace field of dataSourceRef requires the CrossNamespaceVolumeDataSource feature gate to be enabled."
   },
   {
    "j": "volumeAttributesClassName",
    "t": "*string",
    "o": 1,
    "p": 9,
    "d": "volumeAttributesClassName may be used to set the VolumeAttributesClass used by this claim. If specified, the CSI driver will create or update the volume with the attributes defined in the corresponding VolumeAttributesClass. This has a different purpose than storageClassName, it can be changed after the claim is created. An empty string or nil value indicates that no VolumeAttributesClass will be applied to the claim. If the claim enters an Infeasible error state, this field can be reset to its previous value (including nil) to cancel the modification. If the resource referred to by volumeAttributesClass does not exist, this PersistentVolumeClaim will be set to a Pending state, as reflected by the modifyVolumeStatus field, until such as a resource exists. More info: https://kubernetes.io/docs/concepts/storage/volume-attributes-classes/"
   }
  ]
 },
 "io.k8s.api.core.v1.PersistentVolumeClaimStatus": {
  "go": "v1.PersistentVolumeClaimStatus",
  "d": "PersistentVolumeClaimStatus is the current status of a persistent volume claim.",
  "f": [
   {
    "j": "phase",
    "t": "@io.k8s.api.core.v1.PersistentVolumeClaimPhase",
    "o": 1,
    "p": 1,
    "d": "phase represents the current phase of PersistentVolumeClaim."
   },
   {
    "j": "accessModes",
    "t": "[]@io.k8s.api.core.v1.PersistentVolumeAccessMode",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "accessModes contains the actual access modes the volume backing the PVC has. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes-1"
   },
   {
    "j": "capacity",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 3,
    "d": "capacity represents the actual resources of the underlying volume."
   },
   {
    "j": "conditions",
    "t": "[]@io.k8s.api.core.v1.PersistentVolumeClaimCondition",
    "o": 1,
    "p": 4,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "conditions is the current Condition of persistent volume claim. If underlying persistent volume is being resized then the Condition will be set to 'Resizing'."
   },
   {
    "j": "allocatedResources",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 5,
    "d": "allocatedResources tracks the resources allocated to a PVC including its capacity. Key names follow standard Kubernetes label syntax. Valid values are either:\n\t* Un-prefixed keys:\n\t\t- storage - the capacity of the volume.\n\t* Custom resources must use implementation-defined prefixed names such as \"example.com/my-custom-resource\"\nApart from above values - keys that are unprefixed or have kubernetes.io prefix are considered reserved and hence may not be used.\n\nCapacity reported here may be larger than the actual capacity when a volume expansion operation is requested. For storage quota, the larger value from allocatedResources and PVC.spec.resources is used. If allocatedResources is not set, PVC.spec.resources alone is used for quota calculation. If a volume expansion capacity request is lowered, allocatedResources is only lowered if there are no expansion operations in progress and if the actual volume capacity is equal or lower than the requested capacity.\n\nA controller that receives PVC update with previously unknown resourceName should ignore the update for the purpose it was designed. For example - a controller that only is responsible for resizing capacity of the volume, should ignore PVC updates that change other valid resources associated with PVC."
   },
   {
    "j": "allocatedResourceStatuses",
    "t": "map[string]@io.k8s.api.core.v1.ClaimResourceStatus",
    "o": 1,
    "p": 7,
    "st": "granular",
    "d": "allocatedResourceStatuses stores status of resource being resized for the given PVC. Key names follow standard Kubernetes label syntax. Valid values are either:\n\t* Un-prefixed keys:\n\t\t- storage - the capacity of the volume.\n\t* Custom resources must use implementation-defined prefixed names such as \"example.com/my-custom-resource\"\nApart from above values - keys that are unprefixed or have kubernetes.io prefix are considered reserved and hence may not be used.\n\nClaimResourceStatus can be in any of following states:\n\t- ControllerResizeInProgress:\n\t\tState set when resize controller starts resizing the volume in control-plane.\n\t- ControllerResizeFailed:\n\t\tState set when resize has failed in resize controller with a terminal error.\n\t- NodeResizePending:\n\t\tState set when resize controller has finished resizing the volume but further resizing of\n\t\tvolume is needed on the node.\n\t- NodeResizeInProgress:\n\t\tState set when kubelet starts resizing the volume.\n\t- NodeResizeFailed:\n\t\tState set when resizing has failed in kubelet with a terminal error. Transient errors don't set\n\t\tNodeResizeFailed.\nFor example: if expanding a PVC for more capacity - this field can be one of the following states:\n\t- pvc.status.allocatedResourceStatus['storage'] = \"ControllerResizeInProgress\"\n     - pvc.status.allocatedResourceStatus['storage'] = \"ControllerResizeFailed\"\n     - pvc.status.allocatedResourceStatus['storage'] = \"NodeResizePending\"\n     - pvc.status.allocatedResourceStatus['storage'] = \"NodeResizeInProgress\"\n     - pvc.status.allocatedResourceStatus['storage'] = \"NodeResizeFailed\"\nWhen this field is not set, it means that no resize operation is in progress for the given PVC.\n\nA controller that receives PVC update with previously unknown resourceName or ClaimResourceStatus should ignore the update for the purpose it was designed. For example - a controller that only is responsible for resizing capacity of the volume, should ignore PVC updates that change other valid resources associated with PVC."
   },
   {
    "j": "currentVolumeAttributesClassName",
    "t": "*string",
    "o": 1,
    "p": 8,
    "d": "currentVolumeAttributesClassName is the current name of the VolumeAttributesClass the PVC is using. When unset, there is no VolumeAttributeClass applied to this PersistentVolumeClaim"
   },
   {
    "j": "modifyVolumeStatus",
    "t": "*@io.k8s.api.core.v1.ModifyVolumeStatus",
    "o": 1,
    "p": 9,
    "d": "ModifyVolumeStatus represents the status object of ControllerModifyVolume operation. When this is unset, there is no ModifyVolume operation being attempted."
   },
   {
    "j": "healthStatus",
    "t": "*@io.k8s.api.core.v1.VolumeHealthStatus",
    "o": 1,
    "p": 10,
    "d": "healthStatus contains the latest controller-reported health information for the volume bound to this claim."
   }
  ]
 },
 "io.k8s.api.core.v1.PersistentVolumeClaimTemplate": {
  "go": "v1.PersistentVolumeClaimTemplate",
  "d": "PersistentVolumeClaimTemplate is used to produce PersistentVolumeClaim objects as part of an EphemeralVolumeSource.",
  "f": [
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "May contain labels and annotations that will be copied into the PVC when creating it. No other fields are allowed and will be rejected during validation."
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.core.v1.PersistentVolumeClaimSpec",
    "p": 2,
    "req": 1,
    "d": "The specification for the PersistentVolumeClaim. The entire content is copied unchanged into the PVC that gets created from this template. The same fields as in a PersistentVolumeClaim are also valid here."
   }
  ]
 },
 "io.k8s.api.core.v1.PersistentVolumeClaimVolumeSource": {
  "go": "v1.PersistentVolumeClaimVolumeSource",
  "d": "PersistentVolumeClaimVolumeSource references the user's PVC in the same namespace. This volume finds the bound PV and mounts that volume for the pod. A PersistentVolumeClaimVolumeSource is, essentially, a wrapper around another type of volume that is owned by someone else (the system).",
  "f": [
   {
    "j": "claimName",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "claimName is the name of a PersistentVolumeClaim in the same namespace as the pod using this volume. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#persistentvolumeclaims"
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 2,
    "d": "readOnly Will force the ReadOnly setting in VolumeMounts. Default false."
   }
  ]
 },
 "io.k8s.api.core.v1.PersistentVolumeList": {
  "go": "v1.PersistentVolumeList",
  "d": "PersistentVolumeList is a list of PersistentVolume items.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.PersistentVolume",
    "p": 2,
    "req": 1,
    "d": "items is a list of persistent volumes. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes"
   }
  ]
 },
 "io.k8s.api.core.v1.PersistentVolumeMode": {
  "go": "v1.PersistentVolumeMode",
  "u": "string"
 },
 "io.k8s.api.core.v1.PersistentVolumePhase": {
  "go": "v1.PersistentVolumePhase",
  "u": "string"
 },
 "io.k8s.api.core.v1.PersistentVolumeReclaimPolicy": {
  "go": "v1.PersistentVolumeReclaimPolicy",
  "u": "string"
 },
 "io.k8s.api.core.v1.PersistentVolumeSource": {
  "go": "v1.PersistentVolumeSource",
  "d": "PersistentVolumeSource is similar to VolumeSource but meant for the administrator who creates PVs. Exactly one of its members must be set.",
  "f": [
   {
    "j": "gcePersistentDisk",
    "t": "*@io.k8s.api.core.v1.GCEPersistentDiskVolumeSource",
    "o": 1,
    "p": 1,
    "d": "gcePersistentDisk represents a GCE Disk resource that is attached to a kubelet's host machine and then exposed to the pod. Provisioned by an admin. Deprecated: GCEPersistentDisk is deprecated. All operations for the in-tree gcePersistentDisk type are redirected to the pd.csi.storage.gke.io CSI driver. More info: https://kubernetes.io/docs/concepts/storage/volumes#gcepersistentdisk"
   },
   {
    "j": "awsElasticBlockStore",
    "t": "*@io.k8s.api.core.v1.AWSElasticBlockStoreVolumeSource",
    "o": 1,
    "p": 2,
    "d": "awsElasticBlockStore represents an AWS Disk resource that is attached to a kubelet's host machine and then exposed to the pod. Deprecated: AWSElasticBlockStore is deprecated. All operations for the in-tree awsElasticBlockStore type are redirected to the ebs.csi.aws.com CSI driver. More info: https://kubernetes.io/docs/concepts/storage/volumes#awselasticblockstore"
   },
   {
    "j": "hostPath",
    "t": "*@io.k8s.api.core.v1.HostPathVolumeSource",
    "o": 1,
    "p": 3,
    "d": "hostPath represents a directory on the host. Provisioned by a developer or tester. This is useful for single-node development and testing only! On-host storage is not supported in any way and WILL NOT WORK in a multi-node cluster. More info: https://kubernetes.io/docs/concepts/storage/volumes#hostpath"
   },
   {
    "j": "glusterfs",
    "t": "*@io.k8s.api.core.v1.GlusterfsPersistentVolumeSource",
    "o": 1,
    "p": 4,
    "d": "glusterfs represents a Glusterfs volume that is attached to a host and exposed to the pod. Provisioned by an admin. Deprecated: Glusterfs is deprecated and the in-tree glusterfs type is no longer supported. More info: https://examples.k8s.io/volumes/glusterfs/README.md"
   },
   {
    "j": "nfs",
    "t": "*@io.k8s.api.core.v1.NFSVolumeSource",
    "o": 1,
    "p": 5,
    "d": "nfs represents an NFS mount on the host. Provisioned by an admin. More info: https://kubernetes.io/docs/concepts/storage/volumes#nfs"
   },
   {
    "j": "rbd",
    "t": "*@io.k8s.api.core.v1.RBDPersistentVolumeSource",
    "o": 1,
    "p": 6,
    "d": "rbd represents a Rados Block Device mount on the host that shares a pod's lifetime. Deprecated: RBD is deprecated and the in-tree rbd type is no longer supported. More info: https://examples.k8s.io/volumes/rbd/README.md"
   },
   {
    "j": "iscsi",
    "t": "*@io.k8s.api.core.v1.ISCSIPersistentVolumeSource",
    "o": 1,
    "p": 7,
    "d": "iscsi represents an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod. Provisioned by an admin."
   },
   {
    "j": "cinder",
    "t": "*@io.k8s.api.core.v1.CinderPersistentVolumeSource",
    "o": 1,
    "p": 8,
    "d": "cinder represents a cinder volume attached and mounted on kubelets host machine. Deprecated: Cinder is deprecated. All operations for the in-tree cinder type are redirected to the cinder.csi.openstack.org CSI driver. More info: https://examples.k8s.io/mysql-cinder-pd/README.md"
   },
   {
    "j": "cephfs",
    "t": "*@io.k8s.api.core.v1.CephFSPersistentVolumeSource",
    "o": 1,
    "p": 9,
    "d": "cephFS represents a Ceph FS mount on the host that shares a pod's lifetime. Deprecated: CephFS is deprecated and the in-tree cephfs type is no longer supported."
   },
   {
    "j": "fc",
    "t": "*@io.k8s.api.core.v1.FCVolumeSource",
    "o": 1,
    "p": 10,
    "d": "fc represents a Fibre Channel resource that is attached to a kubelet's host machine and then exposed to the pod."
   },
   {
    "j": "flocker",
    "t": "*@io.k8s.api.core.v1.FlockerVolumeSource",
    "o": 1,
    "p": 11,
    "d": "flocker represents a Flocker volume attached to a kubelet's host machine and exposed to the pod for its usage. This depends on the Flocker control service being running. Deprecated: Flocker is deprecated and the in-tree flocker type is no longer supported."
   },
   {
    "j": "flexVolume",
    "t": "*@io.k8s.api.core.v1.FlexPersistentVolumeSource",
    "o": 1,
    "p": 12,
    "d": "flexVolume represents a generic volume resource that is provisioned/attached using an exec based plugin. Deprecated: FlexVolume is deprecated. Consider using a CSIDriver instead."
   },
   {
    "j": "azureFile",
    "t": "*@io.k8s.api.core.v1.AzureFilePersistentVolumeSource",
    "o": 1,
    "p": 13,
    "d": "azureFile represents an Azure File Service mount on the host and bind mount to the pod. Deprecated: AzureFile is deprecated. All operations for the in-tree azureFile type are redirected to the file.csi.azure.com CSI driver."
   },
   {
    "j": "vsphereVolume",
    "t": "*@io.k8s.api.core.v1.VsphereVirtualDiskVolumeSource",
    "o": 1,
    "p": 14,
    "d": "vsphereVolume represents a vSphere volume attached and mounted on kubelets host machine. Deprecated: VsphereVolume is deprecated. All operations for the in-tree vsphereVolume type are redirected to the csi.vsphere.vmware.com CSI driver."
   },
   {
    "j": "quobyte",
    "t": "*@io.k8s.api.core.v1.QuobyteVolumeSource",
    "o": 1,
    "p": 15,
    "d": "quobyte represents a Quobyte mount on the host that shares a pod's lifetime. Deprecated: Quobyte is deprecated and the in-tree quobyte type is no longer supported."
   },
   {
    "j": "azureDisk",
    "t": "*@io.k8s.api.core.v1.AzureDiskVolumeSource",
    "o": 1,
    "p": 16,
    "d": "azureDisk represents an Azure Data Disk mount on the host and bind mount to the pod. Deprecated: AzureDisk is deprecated. All operations for the in-tree azureDisk type are redirected to the disk.csi.azure.com CSI driver."
   },
   {
    "j": "photonPersistentDisk",
    "t": "*@io.k8s.api.core.v1.PhotonPersistentDiskVolumeSource",
    "o": 1,
    "p": 17,
    "d": "photonPersistentDisk represents a PhotonController persistent disk attached and mounted on kubelets host machine. Deprecated: PhotonPersistentDisk is deprecated and the in-tree photonPersistentDisk type is no longer supported."
   },
   {
    "j": "portworxVolume",
    "t": "*@io.k8s.api.core.v1.PortworxVolumeSource",
    "o": 1,
    "p": 18,
    "d": "portworxVolume represents a portworx volume attached and mounted on kubelets host machine. Deprecated: PortworxVolume is deprecated. All operations for the in-tree portworxVolume type are redirected to the pxd.portworx.com CSI driver."
   },
   {
    "j": "scaleIO",
    "t": "*@io.k8s.api.core.v1.ScaleIOPersistentVolumeSource",
    "o": 1,
    "p": 19,
    "d": "scaleIO represents a ScaleIO persistent volume attached and mounted on Kubernetes nodes. Deprecated: ScaleIO is deprecated and the in-tree scaleIO type is no longer supported."
   },
   {
    "j": "local",
    "t": "*@io.k8s.api.core.v1.LocalVolumeSource",
    "o": 1,
    "p": 20,
    "d": "local represents directly-attached storage with node affinity"
   },
   {
    "j": "storageos",
    "t": "*@io.k8s.api.core.v1.StorageOSPersistentVolumeSource",
    "o": 1,
    "p": 21,
    "d": "storageOS represents a StorageOS volume that is attached to the kubelet's host machine and mounted into the pod. Deprecated: StorageOS is deprecated and the in-tree storageos type is no longer supported. More info: https://examples.k8s.io/volumes/storageos/README.md"
   },
   {
    "j": "csi",
    "t": "*@io.k8s.api.core.v1.CSIPersistentVolumeSource",
    "o": 1,
    "p": 22,
    "d": "csi represents storage that is handled by an external CSI driver."
   }
  ]
 },
 "io.k8s.api.core.v1.PersistentVolumeSpec": {
  "go": "v1.PersistentVolumeSpec",
  "d": "PersistentVolumeSpec is the specification of a persistent volume.",
  "f": [
   {
    "j": "capacity",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 1,
    "d": "capacity is the description of the persistent volume's resources and capacity. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#capacity"
   },
   {
    "j": "",
    "t": "@io.k8s.api.core.v1.PersistentVolumeSource",
    "p": 2,
    "req": 1,
    "d": "persistentVolumeSource is the actual volume backing the persistent volume."
   },
   {
    "j": "accessModes",
    "t": "[]@io.k8s.api.core.v1.PersistentVolumeAccessMode",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "accessModes contains all ways the volume can be mounted. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes"
   },
   {
    "j": "claimRef",
    "t": "*@io.k8s.api.core.v1.ObjectReference",
    "o": 1,
    "p": 4,
    "st": "granular",
    "d": "claimRef is part of a bi-directional binding between PersistentVolume and PersistentVolumeClaim. Expected to be non-nil when bound. claim.VolumeName is the authoritative bind between PV and PVC. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#binding"
   },
   {
    "j": "persistentVolumeReclaimPolicy",
    "t": "@io.k8s.api.core.v1.PersistentVolumeReclaimPolicy",
    "o": 1,
    "p": 5,
    "d": "persistentVolumeReclaimPolicy defines what happens to a persistent volume when released from its claim. Valid options are Retain (default for manually created PersistentVolumes), Delete (default for dynamically provisioned PersistentVolumes), and Recycle (deprecated). Recycle must be supported by the volume plugin underlying this PersistentVolume. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#reclaiming"
   },
   {
    "j": "storageClassName",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "storageClassName is the name of StorageClass to which this persistent volume belongs. Empty value means that this volume does not belong to any StorageClass."
   },
   {
    "j": "mountOptions",
    "t": "[]string",
    "o": 1,
    "p": 7,
    "lt": "atomic",
    "d": "mountOptions is the list of mount options, e.g. [\"ro\", \"soft\"]. Not validated - mount will simply fail if one is invalid. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#mount-options"
   },
   {
    "j": "volumeMode",
    "t": "*@io.k8s.api.core.v1.PersistentVolumeMode",
    "o": 1,
    "p": 8,
    "d": "volumeMode defines if a volume is intended to be used with a formatted filesystem or to remain in raw block state. Value of Filesystem is implied when not included in spec."
   },
   {
    "j": "nodeAffinity",
    "t": "*@io.k8s.api.core.v1.VolumeNodeAffinity",
    "o": 1,
    "p": 9,
    "d": "nodeAffinity defines constraints that limit what nodes this volume can be accessed from. This field influences the scheduling of pods that use this volume. This field is mutable if MutablePVNodeAffinity feature gate is enabled."
   },
   {
    "j": "volumeAttributesClassName",
    "t": "*string",
    "o": 1,
    "p": 10,
    "d": "Name of VolumeAttributesClass to which this persistent volume belongs. Empty value is not allowed. When this field is not set, it indicates that this volume does not belong to any VolumeAttributesClass. This field is mutable and can be changed by the CSI driver after a volume has been updated successfully to a new class. For an unbound PersistentVolume, the volumeAttributesClassName will be matched with unbound PersistentVolumeClaims during the binding process."
   }
  ]
 },
 "io.k8s.api.core.v1.PersistentVolumeStatus": {
  "go": "v1.PersistentVolumeStatus",
  "d": "PersistentVolumeStatus is the current status of a persistent volume.",
  "f": [
   {
    "j": "phase",
    "t": "@io.k8s.api.core.v1.PersistentVolumePhase",
    "o": 1,
    "p": 1,
    "d": "phase indicates if a volume is available, bound to a claim, or released by a claim. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#phase"
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "message is a human-readable message indicating details about why the volume is in this state."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "reason is a brief CamelCase string that describes any failure and is meant for machine parsing and tidy display in the CLI."
   },
   {
    "j": "lastPhaseTransitionTime",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 4,
    "d": "lastPhaseTransitionTime is the time the phase transitioned from one to another and automatically resets to current time everytime a volume phase transitions."
   }
  ]
 },
 "io.k8s.api.core.v1.PhotonPersistentDiskVolumeSource": {
  "go": "v1.PhotonPersistentDiskVolumeSource",
  "d": "Represents a Photon Controller persistent disk resource.",
  "f": [
   {
    "j": "pdID",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "pdID is the ID that identifies Photon Controller persistent disk"
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "fsType is the filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex. \"ext4\", \"xfs\", \"ntfs\". Implicitly inferred to be \"ext4\" if unspecified."
   }
  ]
 },
 "io.k8s.api.core.v1.Pod": {
  "go": "v1.Pod",
  "d": "Pod is a collection of containers that can run on a host. This resource is created by clients and scheduled onto hosts.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.core.v1.PodSpec",
    "o": 1,
    "p": 2,
    "d": "Specification of the desired behavior of the pod. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.PodStatus",
    "o": 1,
    "p": 3,
    "d": "Most recently observed status of the pod. This data may not be up to date. Populated by the system. Read-only. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.core.v1.PodAffinity": {
  "go": "v1.PodAffinity",
  "d": "Pod affinity is a group of inter pod affinity scheduling rules.",
  "f": [
   {
    "j": "requiredDuringSchedulingIgnoredDuringExecution",
    "t": "[]@io.k8s.api.core.v1.PodAffinityTerm",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "If the affinity requirements specified by this field are not met at scheduling time, the pod will not be scheduled onto the node. If the affinity requirements specified by this field cease to be met at some point during pod execution (e.g. due to a pod label update), the system may or may not try to eventually evict the pod from its node. When there are multiple elements, the lists of nodes corresponding to each podAffinityTerm are intersected, i.e. all terms must be satisfied."
   },
   {
    "j": "preferredDuringSchedulingIgnoredDuringExecution",
    "t": "[]@io.k8s.api.core.v1.WeightedPodAffinityTerm",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "The scheduler will prefer to schedule pods to nodes that satisfy the affinity expressions specified by this field, but it may choose a node that violates one or more of the expressions. The node that is most preferred is the one with the greatest sum of weights, i.e. for each node that meets all of the scheduling requirements (resource request, requiredDuringScheduling affinity expressions, etc.), compute a sum by iterating through the elements of this field and adding \"weight\" to the sum if the node has pods which matches the corresponding podAffinityTerm; the node(s) with the highest sum are the most preferred."
   }
  ]
 },
 "io.k8s.api.core.v1.PodAffinityTerm": {
  "go": "v1.PodAffinityTerm",
  "d": "Defines a set of pods (namely those matching the labelSelector relative to the given namespace(s)) that this pod should be co-located (affinity) or not co-located (anti-affinity) with, where co-located is defined as running on a node whose value of the label with key <topologyKey> matches that of any node on which a pod of the set of pods is running",
  "f": [
   {
    "j": "labelSelector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 1,
    "d": "A label query over a set of resources, in this case pods. If it's null, this PodAffinityTerm matches with no Pods."
   },
   {
    "j": "namespaces",
    "t": "[]string",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "namespaces specifies a static list of namespace names that the term applies to. The term is applied to the union of the namespaces listed in this field and the ones selected by namespaceSelector. null or empty namespaces list and null namespaceSelector means \"this pod's namespace\"."
   },
   {
    "j": "topologyKey",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "This pod should be co-located (affinity) or not co-located (anti-affinity) with the pods matching the labelSelector in the specified namespaces, where co-located is defined as running on a node whose value of the label with key topologyKey matches that of any node on which any of the selected pods is running. Empty topologyKey is not allowed."
   },
   {
    "j": "namespaceSelector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 4,
    "d": "A label query over the set of namespaces that the term applies to. The term is applied to the union of the namespaces selected by this field and the ones listed in the namespaces field. null selector and null or empty namespaces list means \"this pod's namespace\". An empty selector ({}) matches all namespaces."
   },
   {
    "j": "matchLabelKeys",
    "t": "[]string",
    "o": 1,
    "p": 5,
    "lt": "atomic",
    "d": "MatchLabelKeys is a set of pod label keys to select which pods will be taken into consideration. The keys are used to lookup values from the incoming pod labels, those key-value labels are merged with `labelSelector` as `key in (value)` to select the group of existing pods which pods will be taken into consideration for the incoming pod's pod (anti) affinity. Keys that don't exist in the incoming pod labels will be ignored. The default value is empty. The same key is forbidden to exist in both matchLabelKeys and labelSelector. Also, matchLabelKeys cannot be set when labelSelector isn't set."
   },
   {
    "j": "mismatchLabelKeys",
    "t": "[]string",
    "o": 1,
    "p": 6,
    "lt": "atomic",
    "d": "MismatchLabelKeys is a set of pod label keys to select which pods will be taken into consideration. The keys are used to lookup values from the incoming pod labels, those key-value labels are merged with `labelSelector` as `key notin (value)` to select the group of existing pods which pods will be taken into consideration for the incoming pod's pod (anti) affinity. Keys that don't exist in the incoming pod labels will be ignored. The default value is empty. The same key is forbidden to exist in both mismatchLabelKeys and labelSelector. Also, mismatchLabelKeys cannot be set when labelSelector isn't set."
   }
  ]
 },
 "io.k8s.api.core.v1.PodAntiAffinity": {
  "go": "v1.PodAntiAffinity",
  "d": "Pod anti affinity is a group of inter pod anti affinity scheduling rules.",
  "f": [
   {
    "j": "requiredDuringSchedulingIgnoredDuringExecution",
    "t": "[]@io.k8s.api.core.v1.PodAffinityTerm",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "If the anti-affinity requirements specified by this field are not met at scheduling time, the pod will not be scheduled onto the node. If the anti-affinity requirements specified by this field cease to be met at some point during pod execution (e.g. due to a pod label update), the system may or may not try to eventually evict the pod from its node. When there are multiple elements, the lists of nodes corresponding to each podAffinityTerm are intersected, i.e. all terms must be satisfied."
   },
   {
    "j": "preferredDuringSchedulingIgnoredDuringExecution",
    "t": "[]@io.k8s.api.core.v1.WeightedPodAffinityTerm",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "The scheduler will prefer to schedule pods to nodes that satisfy the anti-affinity expressions specified by this field, but it may choose a node that violates one or more of the expressions. The node that is most preferred is the one with the greatest sum of weights, i.e. for each node that meets all of the scheduling requirements (resource request, requiredDuringScheduling anti-affinity expressions, etc.), compute a sum by iterating through the elements of this field and subtracting \"weight\" from the sum if the node has pods which matches the corresponding podAffinityTerm; the node(s) with the highest sum are the most preferred."
   }
  ]
 },
 "io.k8s.api.core.v1.PodAttachOptions": {
  "go": "v1.PodAttachOptions",
  "d": "PodAttachOptions is the query options to a Pod's remote attach call.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "stdin",
    "t": "bool",
    "o": 1,
    "p": 1,
    "d": "Stdin if true, redirects the standard input stream of the pod for this call. Defaults to false."
   },
   {
    "j": "stdout",
    "t": "bool",
    "o": 1,
    "p": 2,
    "d": "Stdout if true indicates that stdout is to be redirected for the attach call. Defaults to true."
   },
   {
    "j": "stderr",
    "t": "bool",
    "o": 1,
    "p": 3,
    "d": "Stderr if true indicates that stderr is to be redirected for the attach call. Defaults to true."
   },
   {
    "j": "tty",
    "t": "bool",
    "o": 1,
    "p": 4,
    "d": "TTY if true indicates that a tty will be allocated for the attach call. This is passed through the container runtime so the tty is allocated on the worker node by the container runtime. Defaults to false."
   },
   {
    "j": "container",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "The container in which to execute the command. Defaults to only container if there is only one container in the pod."
   }
  ]
 },
 "io.k8s.api.core.v1.PodCertificateProjection": {
  "go": "v1.PodCertificateProjection",
  "d": "PodCertificateProjection provides a private key and X.509 certificate in the pod filesystem.",
  "f": [
   {
    "j": "signerName",
    "t": "string",
    "o": 1,
    "p": 1,
    "req": 1,
    "d": "Kubelet's generated CSRs will be addressed to this signer."
   },
   {
    "j": "keyType",
    "t": "string",
    "o": 1,
    "p": 2,
    "req": 1,
    "d": "The type of keypair Kubelet will generate for the pod.\n\nValid values are \"RSA3072\", \"RSA4096\", \"ECDSAP256\", \"ECDSAP384\", \"ECDSAP521\", and \"ED25519\"."
   },
   {
    "j": "maxExpirationSeconds",
    "t": "*int32",
    "o": 1,
    "p": 3,
    "d": "maxExpirationSeconds is the maximum lifetime permitted for the certificate.\n\nKubelet copies this value verbatim into the PodCertificateRequests it generates for this projection.\n\nIf omitted, kube-apiserver will set it to 86400(24 hours). kube-apiserver will reject values shorter than 3600 (1 hour).  The maximum allowable value is 7862400 (91 days).\n\nThe signer implementation is then free to issue a certificate with any lifetime *shorter* than MaxExpirationSeconds, but no shorter than 3600 seconds (1 hour).  This constraint is enforced by kube-apiserver. `kubernetes.io` signers will never issue certificates with a lifetime longer than 24 hours."
   },
   {
    "j": "credentialBundlePath",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "Write the credential bundle at this path in the projected volume.\n\nThe credential bundle is a single file that contains multiple PEM blocks. The first PEM block is a PRIVATE KEY block, containing a PKCS#8 private key.\n\nThe remaining blocks are CERTIFICATE blocks, containing the issued certificate chain from the signer (leaf and any intermediates).\n\nUsing credentialBundlePath lets your Pod's application code make a single atomic read that retrieves a consistent key and certificate chain.  If you project them to separate files, your application code will need to additionally check that the leaf certificate was issued to the key."
   },
   {
    "j": "keyPath",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "Write the key at this path in the projected volume.\n\nMost applications should use credentialBundlePath.  When using keyPath and certificateChainPath, your application needs to check that the key and leaf certificate are consistent, because it is possible to read the files mid-rotation."
   },
   {
    "j": "certificateChainPath",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "Write the certificate chain at this path in the projected volume.\n\nMost applications should use credentialBundlePath.  When using keyPath and certificateChainPath, your application needs to check that the key and leaf certificate are consistent, because it is possible to read the files mid-rotation."
   },
   {
    "j": "userAnnotations",
    "t": "map[string]string",
    "o": 1,
    "p": 7,
    "d": "userAnnotations allow pod authors to pass additional information to the signer implementation.  Kubernetes does not restrict or validate this metadata in any way.\n\nThese values are copied verbatim into the `spec.unverifiedUserAnnotations` field of the PodCertificateRequest objects that Kubelet creates.\n\nEntries are subject to the same validation as object metadata annotations, with the addition that all keys must be domain-prefixed. No restrictions are placed on values, except an overall size limitation on the entire field.\n\nSigners should document the keys and values they support. Signers should deny requests that contain keys they do not recognize."
   },
   {
    "j": "user",
    "t": "*int64",
    "o": 1,
    "p": 8,
    "d": "user is Optional: The owner UID of the created file. If specified, the item-level user field takes precedence over defaultUser. (Alpha) This field requires the AtomicWriteVolumeUserFields feature gate to be enabled."
   }
  ]
 },
 "io.k8s.api.core.v1.PodCondition": {
  "go": "v1.PodCondition",
  "d": "PodCondition contains details for the current condition of this pod.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.core.v1.PodConditionType",
    "p": 1,
    "req": 1,
    "d": "Type is the type of the condition. More info: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle#pod-conditions"
   },
   {
    "j": "observedGeneration",
    "t": "int64",
    "o": 1,
    "p": 7,
    "d": "If set, this represents the .metadata.generation that the pod condition was set based upon."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ConditionStatus",
    "p": 2,
    "req": 1,
    "d": "Status is the status of the condition. Can be True, False, Unknown. More info: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle#pod-conditions"
   },
   {
    "j": "lastProbeTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 3,
    "d": "Last time we probed the condition."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 4,
    "d": "Last time the condition transitioned from one status to another."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "Unique, one-word, CamelCase reason for the condition's last transition."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "Human-readable message indicating details about last transition."
   }
  ]
 },
 "io.k8s.api.core.v1.PodConditionType": {
  "go": "v1.PodConditionType",
  "u": "string"
 },
 "io.k8s.api.core.v1.PodDNSConfig": {
  "go": "v1.PodDNSConfig",
  "d": "PodDNSConfig defines the DNS parameters of a pod in addition to those generated from DNSPolicy.",
  "f": [
   {
    "j": "nameservers",
    "t": "[]string",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "A list of DNS name server IP addresses. This will be appended to the base nameservers generated from DNSPolicy. Duplicated nameservers will be removed."
   },
   {
    "j": "searches",
    "t": "[]string",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "A list of DNS search domains for host-name lookup. This will be appended to the base search paths generated from DNSPolicy. Duplicated search paths will be removed."
   },
   {
    "j": "options",
    "t": "[]@io.k8s.api.core.v1.PodDNSConfigOption",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "A list of DNS resolver options. This will be merged with the base options generated from DNSPolicy. Duplicated entries will be removed. Resolution options given in Options will override those that appear in the base DNSPolicy."
   }
  ]
 },
 "io.k8s.api.core.v1.PodDNSConfigOption": {
  "go": "v1.PodDNSConfigOption",
  "d": "PodDNSConfigOption defines DNS resolver options of a pod.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Name is this DNS resolver option's name. Required."
   },
   {
    "j": "value",
    "t": "*string",
    "o": 1,
    "p": 2,
    "d": "Value is this DNS resolver option's value."
   }
  ]
 },
 "io.k8s.api.core.v1.PodExecOptions": {
  "go": "v1.PodExecOptions",
  "d": "PodExecOptions is the query options to a Pod's remote exec call.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "stdin",
    "t": "bool",
    "o": 1,
    "p": 1,
    "d": "Redirect the standard input stream of the pod for this call. Defaults to false."
   },
   {
    "j": "stdout",
    "t": "bool",
    "o": 1,
    "p": 2,
    "d": "Redirect the standard output stream of the pod for this call."
   },
   {
    "j": "stderr",
    "t": "bool",
    "o": 1,
    "p": 3,
    "d": "Redirect the standard error stream of the pod for this call."
   },
   {
    "j": "tty",
    "t": "bool",
    "o": 1,
    "p": 4,
    "d": "TTY if true indicates that a tty will be allocated for the exec call. Defaults to false."
   },
   {
    "j": "container",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "Container in which to execute the command. Defaults to only container if there is only one container in the pod."
   },
   {
    "j": "command",
    "t": "[]string",
    "p": 6,
    "lt": "atomic",
    "req": 1,
    "d": "Command is the remote command to execute. argv array. Not executed within a shell."
   }
  ]
 },
 "io.k8s.api.core.v1.PodExtendedResourceClaimStatus": {
  "go": "v1.PodExtendedResourceClaimStatus",
  "d": "PodExtendedResourceClaimStatus is stored in the PodStatus for the extended resource requests backed by DRA. It stores the generated name for the corresponding special ResourceClaim created by the scheduler.",
  "f": [
   {
    "j": "requestMappings",
    "t": "[]@io.k8s.api.core.v1.ContainerExtendedResourceRequest",
    "p": 1,
    "lt": "atomic",
    "req": 1,
    "d": "RequestMappings identifies the mapping of <container, extended resource backed by DRA> to  device request in the generated ResourceClaim."
   },
   {
    "j": "resourceClaimName",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "ResourceClaimName is the name of the ResourceClaim that was generated for the Pod in the namespace of the Pod."
   }
  ]
 },
 "io.k8s.api.core.v1.PodFSGroupChangePolicy": {
  "go": "v1.PodFSGroupChangePolicy",
  "u": "string"
 },
 "io.k8s.api.core.v1.PodIP": {
  "go": "v1.PodIP",
  "d": "PodIP represents a single IP address allocated to the pod.",
  "f": [
   {
    "j": "ip",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "IP is the IP address assigned to the pod"
   }
  ]
 },
 "io.k8s.api.core.v1.PodList": {
  "go": "v1.PodList",
  "d": "PodList is a list of Pods.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.Pod",
    "p": 2,
    "req": 1,
    "d": "List of pods. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
   }
  ]
 },
 "io.k8s.api.core.v1.PodOS": {
  "go": "v1.PodOS",
  "d": "PodOS defines the OS parameters of a pod.",
  "f": [
   {
    "j": "name",
    "t": "@io.k8s.api.core.v1.OSName",
    "p": 1,
    "req": 1,
    "d": "Name is the name of the operating system. The currently supported values are linux and windows. Additional value may be defined in future and can be one of: https://github.com/opencontainers/runtime-spec/blob/master/config.md#platform-specific-configuration Clients should expect to handle additional values and treat unrecognized values in this field as os: null"
   }
  ]
 },
 "io.k8s.api.core.v1.PodPhase": {
  "go": "v1.PodPhase",
  "u": "string"
 },
 "io.k8s.api.core.v1.PodPortForwardOptions": {
  "go": "v1.PodPortForwardOptions",
  "d": "PodPortForwardOptions is the query options to a Pod's port forward call when using WebSockets. The `port` query parameter must specify the port or ports (comma separated) to forward over. Port forwarding over SPDY does not use these options. It requires the port to be passed in the `port` header as part of request.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "ports",
    "t": "[]int32",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "List of ports to forward Required when using WebSockets"
   }
  ]
 },
 "io.k8s.api.core.v1.PodProxyOptions": {
  "go": "v1.PodProxyOptions",
  "d": "PodProxyOptions is the query options to a Pod's proxy call.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "path",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Path is the URL path to use for the current proxy request to pod."
   }
  ]
 },
 "io.k8s.api.core.v1.PodQOSClass": {
  "go": "v1.PodQOSClass",
  "u": "string"
 },
 "io.k8s.api.core.v1.PodReadinessGate": {
  "go": "v1.PodReadinessGate",
  "d": "PodReadinessGate contains the reference to a pod condition",
  "f": [
   {
    "j": "conditionType",
    "t": "@io.k8s.api.core.v1.PodConditionType",
    "p": 1,
    "req": 1,
    "d": "ConditionType refers to a condition in the pod's condition list with matching type."
   }
  ]
 },
 "io.k8s.api.core.v1.PodResizeStatus": {
  "go": "v1.PodResizeStatus",
  "u": "string"
 },
 "io.k8s.api.core.v1.PodResourceClaim": {
  "go": "v1.PodResourceClaim",
  "d": "PodResourceClaim references exactly one ResourceClaim, either directly or by naming a ResourceClaimTemplate which is then turned into a ResourceClaim for the pod.\n\nIt adds a name to it that uniquely identifies the ResourceClaim inside the Pod. Containers that need access to the ResourceClaim reference it with this name.\n\nWhen the DRAWorkloadResourceClaims feature gate is enabled and this Pod belongs to a PodGroup, a PodResourceClaim is matched to a PodGroupResourceClaim if all of their fields are equal (Name, ResourceClaimName, and ResourceClaimTemplateName). A matched claim references a single ResourceClaim shared across all Pods in the PodGroup, reserved for the PodGroup in ResourceClaimStatus.ReservedFor rather than for individual Pods.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Name uniquely identifies this resource claim inside the pod. This must be a DNS_LABEL."
   },
   {
    "j": "resourceClaimName",
    "t": "*string",
    "o": 1,
    "p": 3,
    "d": "ResourceClaimName is the name of a ResourceClaim object in the same namespace as this pod.\n\nExactly one of ResourceClaimName and ResourceClaimTemplateName must be set."
   },
   {
    "j": "resourceClaimTemplateName",
    "t": "*string",
    "o": 1,
    "p": 4,
    "d": "ResourceClaimTemplateName is the name of a ResourceClaimTemplate object in the same namespace as this pod.\n\nThe template will be used to create a new ResourceClaim, which will be bound to this pod. When this pod is deleted, the ResourceClaim will also be deleted. The pod name and resource name, along with a generated component, will be used to form a unique name for the ResourceClaim, which will be recorded in pod.status.resourceClaimStatuses.\n\nWhen the DRAWorkloadResourceClaims feature gate is enabled and the pod belongs to a PodGroup that defines a PodGroupResourceClaim with the same Name and ResourceClaimTemplateName, this PodResourceClaim resolves to the ResourceClaim generated for the PodGroup. All pods in the group that define an equivalent PodResourceClaim matching the PodGroupResourceClaim's Name and ResourceClaimTemplateName share the same generated ResourceClaim. ResourceClaims generated for a PodGroup are owned by the PodGroup and their lifecycles are tied to the PodGroup instead of any individual pod.\n\nThis field is immutable and no changes will be made to the corresponding ResourceClaim by the control plane after creating the ResourceClaim.\n\nExactly one of ResourceClaimName and ResourceClaimTemplateName must be set."
   }
  ]
 },
 "io.k8s.api.core.v1.PodResourceClaimStatus": {
  "go": "v1.PodResourceClaimStatus",
  "d": "PodResourceClaimStatus is stored in the PodStatus for each PodResourceClaim which references a ResourceClaimTemplate. It stores the generated name for the corresponding ResourceClaim.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Name uniquely identifies this resource claim inside the pod. This must match the name of an entry in pod.spec.resourceClaims, which implies that the string must be a DNS_LABEL."
   },
   {
    "j": "resourceClaimName",
    "t": "*string",
    "o": 1,
    "p": 2,
    "d": "ResourceClaimName is the name of the ResourceClaim that was generated for the Pod in the namespace of the Pod.\n\nWhen the DRAWorkloadResourceClaims feature is enabled and the corresponding PodResourceClaim matches a PodGroupResourceClaim made by the Pod's PodGroup, then this is the name of the ResourceClaim generated and reserved for the PodGroup.\n\nIf this is unset, then generating a ResourceClaim was not necessary. The pod.spec.resourceClaims entry can be ignored in this case."
   }
  ]
 },
 "io.k8s.api.core.v1.PodSELinuxChangePolicy": {
  "go": "v1.PodSELinuxChangePolicy",
  "u": "string"
 },
 "io.k8s.api.core.v1.PodSchedulingGate": {
  "go": "v1.PodSchedulingGate",
  "d": "PodSchedulingGate is associated to a Pod to guard its scheduling.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Name of the scheduling gate. Each scheduling gate must have a unique name field."
   }
  ]
 },
 "io.k8s.api.core.v1.PodSchedulingGroup": {
  "go": "v1.PodSchedulingGroup",
  "d": "PodSchedulingGroup identifies the runtime scheduling group instance that a Pod belongs to. The scheduler uses this information to apply workload-aware scheduling semantics. Exactly one field must be specified.",
  "f": [
   {
    "j": "podGroupName",
    "t": "*string",
    "o": 1,
    "p": 1,
    "d": "PodGroupName specifies the name of the standalone PodGroup object that represents the runtime instance of this group. Must be a DNS subdomain."
   }
  ]
 },
 "io.k8s.api.core.v1.PodSecurityContext": {
  "go": "v1.PodSecurityContext",
  "d": "PodSecurityContext holds pod-level security attributes and common container settings. Some fields are also present in container.securityContext.  Field values of container.securityContext take precedence over field values of PodSecurityContext.",
  "f": [
   {
    "j": "seLinuxOptions",
    "t": "*@io.k8s.api.core.v1.SELinuxOptions",
    "o": 1,
    "p": 1,
    "d": "The SELinux context to be applied to all containers. If unspecified, the container runtime will allocate a random SELinux context for each container.  May also be set in SecurityContext.  If set in both SecurityContext and PodSecurityContext, the value specified in SecurityContext takes precedence for that container. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "windowsOptions",
    "t": "*@io.k8s.api.core.v1.WindowsSecurityContextOptions",
    "o": 1,
    "p": 8,
    "d": "The Windows specific settings applied to all containers. If unspecified, the options within a container's SecurityContext will be used. If set in both SecurityContext and PodSecurityContext, the value specified in SecurityContext takes precedence. Note that this field cannot be set when spec.os.name is linux."
   },
   {
    "j": "runAsUser",
    "t": "*int64",
    "o": 1,
    "p": 2,
    "d": "The UID to run the entrypoint of the container process. Defaults to user specified in image metadata if unspecified. May also be set in SecurityContext.  If set in both SecurityContext and PodSecurityContext, the value specified in SecurityContext takes precedence for that container. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "runAsGroup",
    "t": "*int64",
    "o": 1,
    "p": 6,
    "d": "The GID to run the entrypoint of the container process. Uses runtime default if unset. May also be set in SecurityContext.  If set in both SecurityContext and PodSecurityContext, the value specified in SecurityContext takes precedence for that container. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "runAsNonRoot",
    "t": "*bool",
    "o": 1,
    "p": 3,
    "d": "Indicates that the container must run as a non-root user. If true, the Kubelet will validate the image at runtime to ensure that it does not run as UID 0 (root) and fail to start the container if it does. If unset or false, no such validation will be performed. May also be set in SecurityContext.  If set in both SecurityContext and PodSecurityContext, the value specified in SecurityContext takes precedence."
   },
   {
    "j": "supplementalGroups",
    "t": "[]int64",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "A list of groups applied to the first process run in each container, in addition to the container's primary GID and fsGroup (if specified).  If the SupplementalGroupsPolicy feature is enabled, the supplementalGroupsPolicy field determines whether these are in addition to or instead of any group memberships defined in the container image. If unspecified, no additional groups are added, though group memberships defined in the container image may still be used, depending on the supplementalGroupsPolicy field. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "supplementalGroupsPolicy",
    "t": "*@io.k8s.api.core.v1.SupplementalGroupsPolicy",
    "o": 1,
    "p": 12,
    "d": "Defines how supplemental groups of the first container processes are calculated. Valid values are \"Merge\" and \"Strict\". If not specified, \"Merge\" is used. (Alpha) Using the field requires the SupplementalGroupsPolicy feature gate to be enabled and the container runtime must implement support for this feature. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "fsGroup",
    "t": "*int64",
    "o": 1,
    "p": 5,
    "d": "A special supplemental group that applies to all containers in a pod. Some volume types allow the Kubelet to change the ownership of that volume to be owned by the pod:\n\n1. The owning GID will be the FSGroup 2. The setgid bit is set (new files created in the volume will be owned by FSGroup) 3. The permission bits are OR'd with rw-rw----\n\nIf unset, the Kubelet will not modify the ownership and permissions of any volume. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "sysctls",
    "t": "[]@io.k8s.api.core.v1.Sysctl",
    "o": 1,
    "p": 7,
    "lt": "atomic",
    "d": "Sysctls hold a list of namespaced sysctls used for the pod. Pods with unsupported sysctls (by the container runtime) might fail to launch. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "fsGroupChangePolicy",
    "t": "*@io.k8s.api.core.v1.PodFSGroupChangePolicy",
    "o": 1,
    "p": 9,
    "d": "fsGroupChangePolicy defines behavior of changing ownership and permission of the volume before being exposed inside Pod. This field will only apply to volume types which support fsGroup based ownership(and permissions). It will have no effect on ephemeral volume types such as: secret, configmaps and emptydir. Valid values are \"OnRootMismatch\" and \"Always\". If not specified, \"Always\" is used. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "seccompProfile",
    "t": "*@io.k8s.api.core.v1.SeccompProfile",
    "o": 1,
    "p": 10,
    "d": "The seccomp options to use by the containers in this pod. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "appArmorProfile",
    "t": "*@io.k8s.api.core.v1.AppArmorProfile",
    "o": 1,
    "p": 11,
    "d": "appArmorProfile is the AppArmor options to use by the containers in this pod. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "seLinuxChangePolicy",
    "t": "*@io.k8s.api.core.v1.PodSELinuxChangePolicy",
    "o": 1,
    "p": 13,
    "d": "seLinuxChangePolicy defines how the container's SELinux label is applied to all volumes used by the Pod. It has no effect on nodes that do not support SELinux or to volumes does not support SELinux. Valid values are \"MountOption\" and \"Recursive\".\n\n\"Recursive\" means relabeling of all files on all Pod volumes by the container runtime. This may be slow for large volumes, but allows mixing privileged and unprivileged Pods sharing the same volume on the same node.\n\n\"MountOption\" mounts all eligible Pod volumes with `-o context` mount option. This requires all Pods that share the same volume to use the same SELinux label. It is not possible to share the same volume among privileged and unprivileged Pods. Eligible volumes are in-tree FibreChannel and iSCSI volumes, and all CSI volumes whose CSI driver announces SELinux support by setting spec.seLinuxMount: true in their CSIDriver instance. Other volumes are always re-labelled recursively.\n\nIf not specified, \"MountOption\" is used.\n\nThis field affects only Pods that have SELinux label set, either in PodSecurityContext or in SecurityContext of all containers.\n\nAll Pods that use the same volume should use the same seLinuxChangePolicy, otherwise some pods can get stuck in ContainerCreating state. Note that this field cannot be set when spec.os.name is windows."
   }
  ]
 },
 "io.k8s.api.core.v1.PodSpec": {
  "go": "v1.PodSpec",
  "d": "PodSpec is a description of a pod.",
  "f": [
   {
    "j": "volumes",
    "t": "[]@io.k8s.api.core.v1.Volume",
    "o": 1,
    "p": 1,
    "ps": "merge,retainKeys",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "List of volumes that can be mounted by containers belonging to the pod. More info: https://kubernetes.io/docs/concepts/storage/volumes"
   },
   {
    "j": "initContainers",
    "t": "[]@io.k8s.api.core.v1.Container",
    "o": 1,
    "p": 20,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "List of initialization containers belonging to the pod. Init containers are executed in order prior to containers being started. If any init container fails, the pod is considered to have failed and is handled according to its restartPolicy. The name for an init container or normal container must be unique among all containers. Init containers may not have Lifecycle actions, Readiness probes, Liveness probes, or Startup probes. The resourceRequirements of an init container are taken into account during scheduling by finding the highest request/limit for each resource type, and then using the max of that value or the sum of the normal containers. Limits are applied to init containers in a similar fashion. Init containers cannot currently be added or removed. Cannot be updated. More info: https://kubernetes.io/docs/concepts/workloads/pods/init-containers/"
   },
   {
    "j": "containers",
    "t": "[]@io.k8s.api.core.v1.Container",
    "p": 2,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "req": 1,
    "d": "List of containers belonging to the pod. Containers cannot currently be added or removed. There must be at least one container in a Pod. Cannot be updated."
   },
   {
    "j": "ephemeralContainers",
    "t": "[]@io.k8s.api.core.v1.EphemeralContainer",
    "o": 1,
    "p": 34,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "List of ephemeral containers run in this pod. Ephemeral containers may be run in an existing pod to perform user-initiated actions such as debugging. This list cannot be specified when creating a pod, and it cannot be modified by updating the pod spec. In order to add an ephemeral container to an existing pod, use the pod's ephemeralcontainers subresource."
   },
   {
    "j": "restartPolicy",
    "t": "@io.k8s.api.core.v1.RestartPolicy",
    "o": 1,
    "p": 3,
    "d": "Restart policy for all containers within the pod. One of Always, OnFailure, Never. In some contexts, only a subset of those values may be permitted. Default to Always. More info: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy"
   },
   {
    "j": "terminationGracePeriodSeconds",
    "t": "*int64",
    "o": 1,
    "p": 4,
    "d": "Optional duration in seconds the pod needs to terminate gracefully. May be decreased in delete request. Value must be non-negative integer. The value zero indicates stop immediately via the kill signal (no opportunity to shut down). If this value is nil, the default grace period will be used instead. The grace period is the duration in seconds after the processes running in the pod are sent a termination signal and the time when the processes are forcibly halted with a kill signal. Set this value longer than the expected cleanup time for your process. Defaults to 30 seconds."
   },
   {
    "j": "activeDeadlineSeconds",
    "t": "*int64",
    "o": 1,
    "p": 5,
    "d": "Optional duration in seconds the pod may be active on the node relative to StartTime before the system will actively try to mark it failed and kill associated containers. Value must be a positive integer."
   },
   {
    "j": "dnsPolicy",
    "t": "@io.k8s.api.core.v1.DNSPolicy",
    "o": 1,
    "p": 6,
    "d": "Set DNS policy for the pod. Defaults to \"ClusterFirst\". Valid values are 'ClusterFirstWithHostNet', 'ClusterFirst', 'Default' or 'None'. DNS parameters given in DNSConfig will be merged with the policy selected with DNSPolicy. To have DNS options set along with hostNetwork, you have to specify DNS policy explicitly to 'ClusterFirstWithHostNet'."
   },
   {
    "j": "nodeSelector",
    "t": "map[string]string",
    "o": 1,
    "p": 7,
    "st": "atomic",
    "d": "NodeSelector is a selector which must be true for the pod to fit on a node. Selector which must match a node's labels for the pod to be scheduled on that node. More info: https://kubernetes.io/docs/concepts/configuration/assign-pod-node/"
   },
   {
    "j": "serviceAccountName",
    "t": "string",
    "o": 1,
    "p": 8,
    "d": "ServiceAccountName is the name of the ServiceAccount to use to run this pod. More info: https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/"
   },
   {
    "j": "serviceAccount",
    "t": "string",
    "o": 1,
    "p": 9,
    "d": "DeprecatedServiceAccount is a deprecated alias for ServiceAccountName. Deprecated: Use serviceAccountName instead."
   },
   {
    "j": "automountServiceAccountToken",
    "t": "*bool",
    "o": 1,
    "p": 21,
    "d": "AutomountServiceAccountToken indicates whether a service account token should be automatically mounted."
   },
   {
    "j": "nodeName",
    "t": "string",
    "o": 1,
    "p": 10,
    "d": "NodeName indicates in which node this pod is scheduled. If empty, this pod is a candidate for scheduling by the scheduler defined in schedulerName. Once this field is set, the kubelet for this node becomes responsible for the lifecycle of this pod. This field should not be used to express a desire for the pod to be scheduled on a specific node. https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename"
   },
   {
    "j": "hostNetwork",
    "t": "bool",
    "o": 1,
    "p": 11,
    "d": "Host networking requested for this pod. Use the host's network namespace. When using HostNetwork you should specify ports so the scheduler is aware. When `hostNetwork` is true, specified `hostPort` fields in port definitions must match `containerPort`, and unspecified `hostPort` fields in port definitions are defaulted to match `containerPort`. Default to false."
   },
   {
    "j": "hostPID",
    "t": "bool",
    "o": 1,
    "p": 12,
    "d": "Use the host's pid namespace. Optional: Default to false."
   },
   {
    "j": "hostIPC",
    "t": "bool",
    "o": 1,
    "p": 13,
    "d": "Use the host's ipc namespace. Optional: Default to false."
   },
   {
    "j": "shareProcessNamespace",
    "t": "*bool",
    "o": 1,
    "p": 27,
    "d": "Share a single process namespace between all of the containers in a pod. When this is set containers will be able to view and signal processes from other containers in the same pod, and the first process in each container will not be assigned PID 1. HostPID and ShareProcessNamespace cannot both be set. Optional: Default to false."
   },
   {
    "j": "securityContext",
    "t": "*@io.k8s.api.core.v1.PodSecurityContext",
    "o": 1,
    "p": 14,
    "d": "SecurityContext holds pod-level security attributes and common container settings. Optional: Defaults to empty.  See type description for default values of each field."
   },
   {
    "j": "imagePullSecrets",
    "t": "[]@io.k8s.api.core.v1.LocalObjectReference",
    "o": 1,
    "p": 15,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "ImagePullSecrets is an optional list of references to secrets in the same namespace to use for pulling any of the images used by this PodSpec. If specified, these secrets will be passed to individual puller implementations for them to use. More info: https://kubernetes.io/docs/concepts/containers/images#specifying-imagepullsecrets-on-a-pod"
   },
   {
    "j": "hostname",
    "t": "string",
    "o": 1,
    "p": 16,
    "d": "Specifies the hostname of the Pod If not specified, the pod's hostname will be set to a system-defined value."
   },
   {
    "j": "subdomain",
    "t": "string",
    "o": 1,
    "p": 17,
    "d": "If specified, the fully qualified Pod hostname will be \"<hostname>.<subdomain>.<pod namespace>.svc.<cluster domain>\". If not specified, the pod will not have a domainname at all."
   },
   {
    "j": "affinity",
    "t": "*@io.k8s.api.core.v1.Affinity",
    "o": 1,
    "p": 18,
    "d": "If specified, the pod's scheduling constraints"
   },
   {
    "j": "schedulerName",
    "t": "string",
    "o": 1,
    "p": 19,
    "d": "If specified, the pod will be dispatched by specified scheduler. If not specified, the pod will be dispatched by default scheduler."
   },
   {
    "j": "tolerations",
    "t": "[]@io.k8s.api.core.v1.Toleration",
    "o": 1,
    "p": 22,
    "lt": "atomic",
    "d": "If specified, the pod's tolerations."
   },
   {
    "j": "hostAliases",
    "t": "[]@io.k8s.api.core.v1.HostAlias",
    "o": 1,
    "p": 23,
    "ps": "merge",
    "pk": "ip",
    "lt": "map",
    "lk": [
     "ip"
    ],
    "d": "HostAliases is an optional list of hosts and IPs that will be injected into the pod's hosts file if specified."
   },
   {
    "j": "priorityClassName",
    "t": "string",
    "o": 1,
    "p": 24,
    "d": "If specified, indicates the pod's priority. \"system-node-critical\" and \"system-cluster-critical\" are two special keywords which indicate the highest priorities with the former being the highest priority. Any other name must be defined by creating a PriorityClass object with that name. If not specified, the pod priority will be default or zero if there is no default."
   },
   {
    "j": "priority",
    "t": "*int32",
    "o": 1,
    "p": 25,
    "d": "The priority value. Various system components use this field to find the priority of the pod. When Priority Admission Controller is enabled, it prevents users from setting this field. The admission controller populates this field from PriorityClassName. The higher the value, the higher the priority."
   },
   {
    "j": "dnsConfig",
    "t": "*@io.k8s.api.core.v1.PodDNSConfig",
    "o": 1,
    "p": 26,
    "d": "Specifies the DNS parameters of a pod. Parameters specified here will be merged to the generated DNS configuration based on DNSPolicy."
   },
   {
    "j": "readinessGates",
    "t": "[]@io.k8s.api.core.v1.PodReadinessGate",
    "o": 1,
    "p": 28,
    "lt": "atomic",
    "d": "If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all its containers are ready AND all conditions specified in the readiness gates have status equal to \"True\" More info: https://git.k8s.io/enhancements/keps/sig-network/580-pod-readiness-gates"
   },
   {
    "j": "runtimeClassName",
    "t": "*string",
    "o": 1,
    "p": 29,
    "d": "RuntimeClassName refers to a RuntimeClass object in the node.k8s.io group, which should be used to run this pod.  If no RuntimeClass resource matches the named class, the pod will not be run. If unset or empty, the \"legacy\" RuntimeClass will be used, which is an implicit class with an empty definition that uses the default runtime handler. More info: https://git.k8s.io/enhancements/keps/sig-node/585-runtime-class"
   },
   {
    "j": "enableServiceLinks",
    "t": "*bool",
    "o": 1,
    "p": 30,
    "d": "EnableServiceLinks indicates whether information about services should be injected into pod's environment variables, matching the syntax of Docker links. Optional: Defaults to true."
   },
   {
    "j": "preemptionPolicy",
    "t": "*@io.k8s.api.core.v1.PreemptionPolicy",
    "o": 1,
    "p": 31,
    "d": "PreemptionPolicy is the Policy for preempting pods with lower priority. One of Never, PreemptLowerPriority. When Priority Admission Controller is enabled, it prevents users from setting this field. The admission controller populates this field from PriorityClassName. Defaults to PreemptLowerPriority if unset."
   },
   {
    "j": "overhead",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 32,
    "d": "Overhead represents the resource overhead associated with running a pod for a given RuntimeClass. This field will be autopopulated at admission time by the RuntimeClass admission controller. If the RuntimeClass admission controller is enabled, overhead must not be set in Pod create requests. The RuntimeClass admission controller will reject Pod create requests which have the overhead already set. If RuntimeClass is configured and selected in the PodSpec, Overhead will be set to the value defined in the corresponding RuntimeClass, otherwise it will remain unset and treated as zero. More info: https://git.k8s.io/enhancements/keps/sig-node/688-pod-overhead/README.md"
   },
   {
    "j": "topologySpreadConstraints",
    "t": "[]@io.k8s.api.core.v1.TopologySpreadConstraint",
    "o": 1,
    "p": 33,
    "ps": "merge",
    "pk": "topologyKey",
    "lt": "map",
    "lk": [
     "topologyKey",
     "whenUnsatisfiable"
    ],
    "d": "TopologySpreadConstraints describes how a group of pods ought to spread across topology domains. Scheduler will schedule pods in a way which abides by the constraints. All topologySpreadConstraints are ANDed."
   },
   {
    "j": "setHostnameAsFQDN",
    "t": "*bool",
    "o": 1,
    "p": 35,
    "d": "If true the pod's hostname will be configured as the pod's FQDN, rather than the leaf name (the default). In Linux containers, this means setting the FQDN in the hostname field of the kernel (the nodename field of struct utsname). In Windows containers, this means setting the registry value of hostname for the registry key HKEY_LOCAL_MACHINE\\\\SYSTEM\\\\CurrentControlSet\\\\Services\\\\Tcpip\\\\Parameters to FQDN. If a pod does not have FQDN, this has no effect. Default to false."
   },
   {
    "j": "os",
    "t": "*@io.k8s.api.core.v1.PodOS",
    "o": 1,
    "p": 36,
    "d": "Specifies the OS of the containers in the pod. Some pod and container fields are restricted if this is set.\n\nIf the OS field is set to linux, the following fields must be unset: -securityContext.windowsOptions\n\nIf the OS field is set to windows, following fields must be unset: - spec.hostPID - spec.hostIPC - spec.hostUsers - spec.resources - spec.securityContext.appArmorProfile - spec.securityContext.seLinuxOptions - spec.securityContext.seccompProfile - spec.securityContext.fsGroup - spec.securityContext.fsGroupChangePolicy - spec.securityContext.sysctls - spec.shareProcessNamespace - spec.securityContext.runAsUser - spec.securityContext.runAsGroup - spec.securityContext.supplementalGroups - spec.securityContext.supplementalGroupsPolicy - spec.containers[*].securityContext.appArmorProfile - spec.containers[*].securityContext.seLinuxOptions - spec.containers[*].securityContext.seccompProfile - spec.containers[*].securityContext.capabilities - spec.containers[*].securityContext.readOnlyRootFilesystem - spec.containers[*].securityContext.privileged - spec.containers[*].securityContext.allowPrivilegeEscalation - spec.containers[*].securityContext.procMount - spec.containers[*].securityContext.runAsUser - spec.containers[*].securityContext.runAsGroup"
   },
   {
    "j": "hostUsers",
    "t": "*bool",
    "o": 1,
    "p": 37,
    "d": "Use the host's user namespace. Optional: Default to true. If set to true or not present, the pod will be run in the host user namespace, useful for when the pod needs a feature only available to the host user namespace, such as loading a kernel module with CAP_SYS_MODULE. When set to false, a new userns is created for the pod. Setting false is useful for mitigating container breakout vulnerabilities even allowing users to run their containers as root without actually having root privileges on the host."
   },
   {
    "j": "schedulingGates",
    "t": "[]@io.k8s.api.core.v1.PodSchedulingGate",
    "o": 1,
    "p": 38,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "SchedulingGates is an opaque list of values that if specified will block scheduling the pod. If schedulingGates is not empty, the pod will stay in the SchedulingGated state and the scheduler will not attempt to schedule the pod.\n\nSchedulingGates can only be set at pod creation time, and be removed only afterwards."
   },
   {
    "j": "resourceClaims",
    "t": "[]@io.k8s.api.core.v1.PodResourceClaim",
    "o": 1,
    "p": 39,
    "ps": "merge,retainKeys",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "ResourceClaims defines which ResourceClaims must be allocated and reserved before the Pod is allowed to start. The resources will be made available to those containers which consume them by name.\n\nThis is a stable field but requires that the DynamicResourceAllocation feature gate is enabled.\n\nThis field is immutable."
   },
   {
    "j": "resources",
    "t": "*@io.k8s.api.core.v1.ResourceRequirements",
    "o": 1,
    "p": 40,
    "d": "Resources is the total amount of CPU and Memory resources required by all containers in the pod. It supports specifying Requests and Limits for \"cpu\", \"memory\" and \"hugepages-\" resource names only. ResourceClaims are not supported.\n\nThis field enables fine-grained control over resource allocation for the entire pod, allowing resource sharing among containers in a pod.\n\nThis is an alpha field and requires enabling the PodLevelResources feature gate."
   },
   {
    "j": "hostnameOverride",
    "t": "*string",
    "o": 1,
    "p": 41,
    "d": "HostnameOverride specifies an explicit override for the pod's hostname as perceived by the pod. This field only specifies the pod's hostname and does not affect its DNS records. When this field is set to a non-empty string: - It takes precedence over the values set in `hostname` and `subdomain`. - The Pod's hostname will be set to this value. - `setHostnameAsFQDN` must be nil or set to false. - `hostNetwork` must be set to false.\n\nThis field must be a valid DNS subdomain as defined in RFC 1123 and contain at most 64 characters."
   },
   {
    "j": "schedulingGroup",
    "t": "*@io.k8s.api.core.v1.PodSchedulingGroup",
    "o": 1,
    "p": 43,
    "d": "SchedulingGroup provides a reference to the immediate scheduling runtime grouping object that this Pod belongs to. This field is used by the scheduler to identify the group and apply the correct group scheduling policies. The association with a group also impacts other lifecycle aspects of a Pod that are relevant in a wider context of scheduling like preemption, resource attachment, etc. If not specified, the Pod is treated as a single unit in all of these aspects. The group object referenced by this field may not exist at the time the Pod is created. This field is immutable, but a group object with the same name may be recreated with different policies. Doing this during pod scheduling may result in the placement not conforming to the expected policies."
   },
   {
    "j": "evictionResponders",
    "t": "[]@io.k8s.api.core.v1.EvictionResponder",
    "o": 1,
    "p": 44,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "evictionResponders reference responders that react to Evictions based on EvictionRequests. Responders should observe and communicate through the Eviction Resource API to help with the graceful termination of a pod. The responders are selected sequentially, according to their specified priority.\n\nResponders should periodically report on an eviction progress by updating the .status.responders[].heartbeatTime field of the Eviction object. If this field is not updated within the heartbeat deadline defined by the Eviction API (currently 20 minutes), the eviction is passed over to the next responder with a lower priority. If there is no other responder, the last default imperative-eviction.k8s.io/evictor responder with a priority of 100 will evict the pod using the imperative Eviction API (pods/<name>/eviction subresource).\n\nThe maximum length of the responders list is 10. Responders are not supported when the pod is part of a PodGroup (.spec.schedulingGroup is set). This field can only be set on creation and is immutable afterwards."
   }
  ]
 },
 "io.k8s.api.core.v1.PodStatus": {
  "go": "v1.PodStatus",
  "d": "PodStatus represents information about the status of a pod. Status may trail the actual state of a system, especially if the node that hosts the pod cannot contact the control plane.",
  "f": [
   {
    "j": "observedGeneration",
    "t": "int64",
    "o": 1,
    "p": 17,
    "d": "If set, this represents the .metadata.generation that the pod status was set based upon. The PodObservedGenerationTracking feature gate must be enabled to use this field."
   },
   {
    "j": "phase",
    "t": "@io.k8s.api.core.v1.PodPhase",
    "o": 1,
    "p": 1,
    "d": "The phase of a Pod is a simple, high-level summary of where the Pod is in its lifecycle. The conditions array, the reason and message fields, and the individual container status arrays contain more detail about the pod's status. There are five possible phase values:\n\nPending: The pod has been accepted by the Kubernetes system, but one or more of the container images has not been created. This includes time before being scheduled as well as time spent downloading images over the network, which could take a while. Running: The pod has been bound to a node, and all of the containers have been created. At least one container is still running, or is in the process of starting or restarting. Succeeded: All containers in the pod have terminated in success, and will not be restarted. Failed: All containers in the pod have terminated, and at least one container has terminated in failure. The container either exited with non-zero status or was terminated by the system. Unknown: For some reason the state of the pod could not be obtained, typically due to an error in communicating with the host of the pod.\n\nMore info: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle#pod-phase"
   },
   {
    "j": "conditions",
    "t": "[]@io.k8s.api.core.v1.PodCondition",
    "o": 1,
    "p": 2,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "Current service state of pod. More info: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle#pod-conditions"
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "A human readable message indicating details about why the pod is in this condition."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "A brief CamelCase message indicating details about why the pod is in this state. e.g. 'Evicted'"
   },
   {
    "j": "nominatedNodeName",
    "t": "string",
    "o": 1,
    "p": 11,
    "d": "nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be scheduled right away as preemption victims receive their graceful termination periods. This field does not guarantee that the pod will be scheduled on this node. Scheduler may decide to place the pod elsewhere if other nodes become available sooner. Scheduler may also decide to give the resources on this node to a higher priority pod that is created after preemption. As a result, this field may be different than PodSpec.nodeName when the pod is scheduled."
   },
   {
    "j": "hostIP",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "hostIP holds the IP address of the host to which the pod is assigned. Empty if the pod has not started yet. A pod can be assigned to a node that has a problem in kubelet which in turns mean that HostIP will not be updated even if there is a node is assigned to pod"
   },
   {
    "j": "hostIPs",
    "t": "[]@io.k8s.api.core.v1.HostIP",
    "o": 1,
    "p": 16,
    "ps": "merge",
    "pk": "ip",
    "lt": "atomic",
    "d": "hostIPs holds the IP addresses allocated to the host. If this field is specified, the first entry must match the hostIP field. This list is empty if the pod has not started yet. A pod can be assigned to a node that has a problem in kubelet which in turns means that HostIPs will not be updated even if there is a node is assigned to this pod."
   },
   {
    "j": "podIP",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "podIP address allocated to the pod. Routable at least within the cluster. Empty if not yet allocated."
   },
   {
    "j": "podIPs",
    "t": "[]@io.k8s.api.core.v1.PodIP",
    "o": 1,
    "p": 12,
    "ps": "merge",
    "pk": "ip",
    "lt": "map",
    "lk": [
     "ip"
    ],
    "d": "podIPs holds the IP addresses allocated to the pod. If this field is specified, the 0th entry must match the podIP field. Pods may be allocated at most 1 value for each of IPv4 and IPv6. This list is empty if no IPs have been allocated yet."
   },
   {
    "j": "startTime",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 7,
    "d": "RFC 3339 date and time at which the object was acknowledged by the Kubelet. This is before the Kubelet pulled the container image(s) for the pod."
   },
   {
    "j": "initContainerStatuses",
    "t": "[]@io.k8s.api.core.v1.ContainerStatus",
    "o": 1,
    "p": 10,
    "lt": "atomic",
    "d": "Statuses of init containers in this pod. The most recent successful non-restartable init container will have ready = true, the most recently started container will have startTime set. Each init container in the pod should have at most one status in this list, and all statuses should be for containers in the pod. However this is not enforced. If a status for a non-existent container is present in the list, or the list has duplicate names, the behavior of various Kubernetes components is not defined and those statuses might be ignored. More info: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-and-container-status"
   },
   {
    "j": "containerStatuses",
    "t": "[]@io.k8s.api.core.v1.ContainerStatus",
    "o": 1,
    "p": 8,
    "lt": "atomic",
    "d": "Statuses of containers in this pod. Each container in the pod should have at most one status in this list, and all statuses should be for containers in the pod. However this is not enforced. If a status for a non-existent container is present in the list, or the list has duplicate names, the behavior of various Kubernetes components is not defined and those statuses might be ignored. More info: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle#pod-and-container-status"
   },
   {
    "j": "qosClass",
    "t": "@io.k8s.api.core.v1.PodQOSClass",
    "o": 1,
    "p": 9,
    "d": "The Quality of Service (QOS) classification assigned to the pod based on resource requirements See PodQOSClass type for available QOS classes More info: https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/#quality-of-service-classes"
   },
   {
    "j": "ephemeralContainerStatuses",
    "t": "[]@io.k8s.api.core.v1.ContainerStatus",
    "o": 1,
    "p": 13,
    "lt": "atomic",
    "d": "Statuses for any ephemeral containers that have run in this pod. Each ephemeral container in the pod should have at most one status in this list, and all statuses should be for containers in the pod. However this is not enforced. If a status for a non-existent container is present in the list, or the list has duplicate names, the behavior of various Kubernetes components is not defined and those statuses might be ignored. More info: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle#pod-and-container-status"
   },
   {
    "j": "resize",
    "t": "@io.k8s.api.core.v1.PodResizeStatus",
    "o": 1,
    "p": 14,
    "d": "Status of resources resize desired for pod's containers. It is empty if no resources resize is pending. Any changes to container resources will automatically set this to \"Proposed\" Deprecated: Resize status is moved to two pod conditions PodResizePending and PodResizeInProgress. PodResizePending will track states where the spec has been resized, but the Kubelet has not yet allocated the resources. PodResizeInProgress will track in-progress resizes, and should be present whenever allocated resources != acknowledged resources."
   },
   {
    "j": "resourceClaimStatuses",
    "t": "[]@io.k8s.api.core.v1.PodResourceClaimStatus",
    "o": 1,
    "p": 15,
    "ps": "merge,retainKeys",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "Status of resource claims."
   },
   {
    "j": "extendedResourceClaimStatus",
    "t": "*@io.k8s.api.core.v1.PodExtendedResourceClaimStatus",
    "o": 1,
    "p": 18,
    "d": "Status of extended resource claim backed by DRA."
   },
   {
    "j": "allocatedResources",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 19,
    "d": "AllocatedResources is the total requests allocated for this pod by the node. If pod-level requests are not set, this will be the total requests aggregated across containers in the pod."
   },
   {
    "j": "resources",
    "t": "*@io.k8s.api.core.v1.ResourceRequirements",
    "o": 1,
    "p": 20,
    "d": "Resources represents the compute resource requests and limits that have been applied at the pod level if pod-level requests or limits are set in PodSpec.Resources"
   },
   {
    "j": "nodeAllocatableResourceClaimStatuses",
    "t": "[]@io.k8s.api.core.v1.NodeAllocatableResourceClaimStatus",
    "o": 1,
    "p": 21,
    "ps": "merge",
    "pk": "resourceClaimName",
    "lt": "map",
    "lk": [
     "resourceClaimName"
    ],
    "d": "NodeAllocatableResourceClaimStatuses contains the status of node-allocatable resources that were allocated for this pod through DRA claims. This includes resources currently reported in v1.Node `status.allocatable` that are not extended resources (see https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources). Examples include \"cpu\", \"memory\", \"ephemeral-storage\", and hugepages."
   },
   {
    "j": "volumeHealth",
    "t": "[]@io.k8s.api.core.v1.PodVolumeHealth",
    "o": 1,
    "p": 22,
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "volumeHealth contains node-reported health for each volume the pod is using. Populated by the kubelet on the pod's node."
   }
  ]
 },
 "io.k8s.api.core.v1.PodTemplate": {
  "go": "v1.PodTemplate",
  "d": "PodTemplate describes a template for creating copies of a predefined pod.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "template",
    "t": "@io.k8s.api.core.v1.PodTemplateSpec",
    "o": 1,
    "p": 2,
    "d": "Template defines the pods that will be created from this pod template. https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.core.v1.PodTemplateList": {
  "go": "v1.PodTemplateList",
  "d": "PodTemplateList is a list of PodTemplates.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.PodTemplate",
    "p": 2,
    "req": 1,
    "d": "List of pod templates"
   }
  ]
 },
 "io.k8s.api.core.v1.PodTemplateSpec": {
  "go": "v1.PodTemplateSpec",
  "d": "PodTemplateSpec describes the data a pod should have when created from a template",
  "f": [
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.core.v1.PodSpec",
    "o": 1,
    "p": 2,
    "d": "Specification of the desired behavior of the pod. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.core.v1.PodVolumeHealth": {
  "go": "v1.PodVolumeHealth",
  "d": "PodVolumeHealth contains health information for a volume used by a pod, reported by the CSI node plugin via the kubelet.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name matches an entry in pod.spec.volumes."
   },
   {
    "j": "healthConditions",
    "t": "[]@io.k8s.api.core.v1.VolumeHealthCondition",
    "o": 1,
    "p": 2,
    "ps": "merge",
    "pk": "status",
    "lt": "map",
    "lk": [
     "status",
     "reason"
    ],
    "d": "conditions is the set of adverse conditions reported by the CSI node plugin for this volume on this node. At most 16 conditions may be reported."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 3,
    "d": "lastTransitionTime is when the current set of conditions first appeared."
   }
  ]
 },
 "io.k8s.api.core.v1.PortStatus": {
  "go": "v1.PortStatus",
  "d": "PortStatus represents the error condition of a service port",
  "f": [
   {
    "j": "port",
    "t": "int32",
    "p": 1,
    "req": 1,
    "d": "Port is the port number of the service port of which status is recorded here"
   },
   {
    "j": "protocol",
    "t": "@io.k8s.api.core.v1.Protocol",
    "p": 2,
    "req": 1,
    "d": "Protocol is the protocol of the service port of which status is recorded here The supported values are: \"TCP\", \"UDP\", \"SCTP\""
   },
   {
    "j": "error",
    "t": "*string",
    "o": 1,
    "p": 3,
    "d": "Error is to record the problem with the service port The format of the error shall comply with the following rules: - built-in error values shall be specified in this file and those shall use\n  CamelCase names\n- cloud provider specific error values must have names that comply with the\n  format foo.example.com/CamelCase."
   }
  ]
 },
 "io.k8s.api.core.v1.PortworxVolumeSource": {
  "go": "v1.PortworxVolumeSource",
  "d": "PortworxVolumeSource represents a Portworx volume resource.",
  "f": [
   {
    "j": "volumeID",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "volumeID uniquely identifies a Portworx volume"
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "fSType represents the filesystem type to mount Must be a filesystem type supported by the host operating system. Ex. \"ext4\", \"xfs\". Implicitly inferred to be \"ext4\" if unspecified."
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 3,
    "d": "readOnly defaults to false (read/write). ReadOnly here will force the ReadOnly setting in VolumeMounts."
   }
  ]
 },
 "io.k8s.api.core.v1.PreemptionPolicy": {
  "go": "v1.PreemptionPolicy",
  "u": "string"
 },
 "io.k8s.api.core.v1.PreferredSchedulingTerm": {
  "go": "v1.PreferredSchedulingTerm",
  "d": "An empty preferred scheduling term matches all objects with implicit weight 0 (i.e. it's a no-op). A null preferred scheduling term matches no objects (i.e. is also a no-op).",
  "f": [
   {
    "j": "weight",
    "t": "int32",
    "p": 1,
    "req": 1,
    "d": "Weight associated with matching the corresponding nodeSelectorTerm, in the range 1-100."
   },
   {
    "j": "preference",
    "t": "@io.k8s.api.core.v1.NodeSelectorTerm",
    "p": 2,
    "req": 1,
    "d": "A node selector term, associated with the corresponding weight."
   }
  ]
 },
 "io.k8s.api.core.v1.Probe": {
  "go": "v1.Probe",
  "d": "Probe describes a health check to be performed against a container to determine whether it is alive or ready to receive traffic.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.api.core.v1.ProbeHandler",
    "p": 1,
    "req": 1,
    "d": "The action taken to determine the health of a container"
   },
   {
    "j": "initialDelaySeconds",
    "t": "int32",
    "o": 1,
    "p": 2,
    "d": "Number of seconds after the container has started before liveness probes are initiated. More info: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle#container-probes"
   },
   {
    "j": "timeoutSeconds",
    "t": "int32",
    "o": 1,
    "p": 3,
    "d": "Number of seconds after which the probe times out. Defaults to 1 second. Minimum value is 1. More info: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle#container-probes"
   },
   {
    "j": "periodSeconds",
    "t": "int32",
    "o": 1,
    "p": 4,
    "d": "How often (in seconds) to perform the probe. Default to 10 seconds. Minimum value is 1."
   },
   {
    "j": "successThreshold",
    "t": "int32",
    "o": 1,
    "p": 5,
    "d": "Minimum consecutive successes for the probe to be considered successful after having failed. Defaults to 1. Must be 1 for liveness and startup. Minimum value is 1."
   },
   {
    "j": "failureThreshold",
    "t": "int32",
    "o": 1,
    "p": 6,
    "d": "Minimum consecutive failures for the probe to be considered failed after having succeeded. Defaults to 3. Minimum value is 1."
   },
   {
    "j": "terminationGracePeriodSeconds",
    "t": "*int64",
    "o": 1,
    "p": 7,
    "d": "Optional duration in seconds the pod needs to terminate gracefully upon probe failure. The grace period is the duration in seconds after the processes running in the pod are sent a termination signal and the time when the processes are forcibly halted with a kill signal. Set this value longer than the expected cleanup time for your process. If this value is nil, the pod's terminationGracePeriodSeconds will be used. Otherwise, this value overrides the value provided by the pod spec. Value must be non-negative integer. The value zero indicates stop immediately via the kill signal (no opportunity to shut down). This is a beta field and requires enabling ProbeTerminationGracePeriod feature gate. Minimum value is 1. spec.terminationGracePeriodSeconds is used if unset."
   }
  ]
 },
 "io.k8s.api.core.v1.ProbeHandler": {
  "go": "v1.ProbeHandler",
  "d": "ProbeHandler defines a specific action that should be taken in a probe. One and only one of the fields must be specified.",
  "f": [
   {
    "j": "exec",
    "t": "*@io.k8s.api.core.v1.ExecAction",
    "o": 1,
    "p": 1,
    "d": "Exec specifies a command to execute in the container."
   },
   {
    "j": "httpGet",
    "t": "*@io.k8s.api.core.v1.HTTPGetAction",
    "o": 1,
    "p": 2,
    "d": "HTTPGet specifies an HTTP GET request to perform."
   },
   {
    "j": "tcpSocket",
    "t": "*@io.k8s.api.core.v1.TCPSocketAction",
    "o": 1,
    "p": 3,
    "d": "TCPSocket specifies a connection to a TCP port."
   },
   {
    "j": "grpc",
    "t": "*@io.k8s.api.core.v1.GRPCAction",
    "o": 1,
    "p": 4,
    "d": "GRPC specifies a GRPC HealthCheckRequest."
   }
  ]
 },
 "io.k8s.api.core.v1.ProcMountType": {
  "go": "v1.ProcMountType",
  "u": "string"
 },
 "io.k8s.api.core.v1.ProjectedVolumeSource": {
  "go": "v1.ProjectedVolumeSource",
  "d": "Represents a projected volume source",
  "f": [
   {
    "j": "sources",
    "t": "[]@io.k8s.api.core.v1.VolumeProjection",
    "p": 1,
    "lt": "atomic",
    "d": "sources is the list of volume projections. Each entry in this list handles one source."
   },
   {
    "j": "defaultMode",
    "t": "*int32",
    "o": 1,
    "p": 2,
    "d": "defaultMode are the mode bits used to set permissions on created files by default. Must be an octal value between 0000 and 0777 or a decimal value between 0 and 511. YAML accepts both octal and decimal values, JSON requires decimal values for mode bits. Directories within the path are not affected by this setting. This might be in conflict with other options that affect the file mode, like fsGroup, and the result can be other mode bits set."
   },
   {
    "j": "defaultUser",
    "t": "*int64",
    "o": 1,
    "p": 3,
    "d": "defaultUser is Optional: The owner UID of the created files by default. The defaultUser field is only used as a fallback when the item-level user field is unset. (Alpha) This field requires the AtomicWriteVolumeUserFields feature gate to be enabled."
   }
  ]
 },
 "io.k8s.api.core.v1.Protocol": {
  "go": "v1.Protocol",
  "u": "string"
 },
 "io.k8s.api.core.v1.PullPolicy": {
  "go": "v1.PullPolicy",
  "u": "string"
 },
 "io.k8s.api.core.v1.QuobyteVolumeSource": {
  "go": "v1.QuobyteVolumeSource",
  "d": "Represents a Quobyte mount that lasts the lifetime of a pod. Quobyte volumes do not support ownership management or SELinux relabeling.",
  "f": [
   {
    "j": "registry",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "registry represents a single or multiple Quobyte Registry services specified as a string as host:port pair (multiple entries are separated with commas) which acts as the central registry for volumes"
   },
   {
    "j": "volume",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "volume is a string that references an already created Quobyte volume by name."
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 3,
    "d": "readOnly here will force the Quobyte volume to be mounted with read-only permissions. Defaults to false."
   },
   {
    "j": "user",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "user to map volume access to Defaults to serivceaccount user"
   },
   {
    "j": "group",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "group to map volume access to Default is no group"
   },
   {
    "j": "tenant",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "tenant owning the given Quobyte volume in the Backend Used with dynamically provisioned Quobyte volumes, value is set by the plugin"
   }
  ]
 },
 "io.k8s.api.core.v1.RBDPersistentVolumeSource": {
  "go": "v1.RBDPersistentVolumeSource",
  "d": "Represents a Rados Block Device mount that lasts the lifetime of a pod. RBD volumes support ownership management and SELinux relabeling.",
  "f": [
   {
    "j": "monitors",
    "t": "[]string",
    "p": 1,
    "lt": "atomic",
    "req": 1,
    "d": "monitors is a collection of Ceph monitors. More info: https://examples.k8s.io/volumes/rbd/README.md#how-to-use-it"
   },
   {
    "j": "image",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "image is the rados image name. More info: https://examples.k8s.io/volumes/rbd/README.md#how-to-use-it"
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "fsType is the filesystem type of the volume that you want to mount. Tip: Ensure that the filesystem type is supported by the host operating system. Examples: \"ext4\", \"xfs\", \"ntfs\". Implicitly inferred to be \"ext4\" if unspecified. More info: https://kubernetes.io/docs/concepts/storage/volumes#rbd"
   },
   {
    "j": "pool",
    "t": "string",
    "o": 1,
    "p": 4,
    "def": "\"rbd\"",
    "d": "pool is the rados pool name. Default is rbd. More info: https://examples.k8s.io/volumes/rbd/README.md#how-to-use-it"
   },
   {
    "j": "user",
    "t": "string",
    "o": 1,
    "p": 5,
    "def": "\"admin\"",
    "d": "user is the rados user name. Default is admin. More info: https://examples.k8s.io/volumes/rbd/README.md#how-to-use-it"
   },
   {
    "j": "keyring",
    "t": "string",
    "o": 1,
    "p": 6,
    "def": "\"/etc/ceph/keyring\"",
    "d": "keyring is the path to key ring for RBDUser. Default is /etc/ceph/keyring. More info: https://examples.k8s.io/volumes/rbd/README.md#how-to-use-it"
   },
   {
    "j": "secretRef",
    "t": "*@io.k8s.api.core.v1.SecretReference",
    "o": 1,
    "p": 7,
    "d": "secretRef is name of the authentication secret for RBDUser. If provided overrides keyring. Default is nil. More info: https://examples.k8s.io/volumes/rbd/README.md#how-to-use-it"
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 8,
    "d": "readOnly here will force the ReadOnly setting in VolumeMounts. Defaults to false. More info: https://examples.k8s.io/volumes/rbd/README.md#how-to-use-it"
   }
  ]
 },
 "io.k8s.api.core.v1.RBDVolumeSource": {
  "go": "v1.RBDVolumeSource",
  "d": "Represents a Rados Block Device mount that lasts the lifetime of a pod. RBD volumes support ownership management and SELinux relabeling.",
  "f": [
   {
    "j": "monitors",
    "t": "[]string",
    "p": 1,
    "lt": "atomic",
    "req": 1,
    "d": "monitors is a collection of Ceph monitors. More info: https://examples.k8s.io/volumes/rbd/README.md#how-to-use-it"
   },
   {
    "j": "image",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "image is the rados image name. More info: https://examples.k8s.io/volumes/rbd/README.md#how-to-use-it"
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "fsType is the filesystem type of the volume that you want to mount. Tip: Ensure that the filesystem type is supported by the host operating system. Examples: \"ext4\", \"xfs\", \"ntfs\". Implicitly inferred to be \"ext4\" if unspecified. More info: https://kubernetes.io/docs/concepts/storage/volumes#rbd"
   },
   {
    "j": "pool",
    "t": "string",
    "o": 1,
    "p": 4,
    "def": "\"rbd\"",
    "d": "pool is the rados pool name. Default is rbd. More info: https://examples.k8s.io/volumes/rbd/README.md#how-to-use-it"
   },
   {
    "j": "user",
    "t": "string",
    "o": 1,
    "p": 5,
    "def": "\"admin\"",
    "d": "user is the rados user name. Default is admin. More info: https://examples.k8s.io/volumes/rbd/README.md#how-to-use-it"
   },
   {
    "j": "keyring",
    "t": "string",
    "o": 1,
    "p": 6,
    "def": "\"/etc/ceph/keyring\"",
    "d": "keyring is the path to key ring for RBDUser. Default is /etc/ceph/keyring. More info: https://examples.k8s.io/volumes/rbd/README.md#how-to-use-it"
   },
   {
    "j": "secretRef",
    "t": "*@io.k8s.api.core.v1.LocalObjectReference",
    "o": 1,
    "p": 7,
    "d": "secretRef is name of the authentication secret for RBDUser. If provided overrides keyring. Default is nil. More info: https://examples.k8s.io/volumes/rbd/README.md#how-to-use-it"
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 8,
    "d": "readOnly here will force the ReadOnly setting in VolumeMounts. Defaults to false. More info: https://examples.k8s.io/volumes/rbd/README.md#how-to-use-it"
   }
  ]
 },
 "io.k8s.api.core.v1.RecursiveReadOnlyMode": {
  "go": "v1.RecursiveReadOnlyMode",
  "u": "string"
 },
 "io.k8s.api.core.v1.ReplicationController": {
  "go": "v1.ReplicationController",
  "d": "ReplicationController represents the configuration of a replication controller.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "If the Labels of a ReplicationController are empty, they are defaulted to be the same as the Pod(s) that the replication controller manages. Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.core.v1.ReplicationControllerSpec",
    "o": 1,
    "p": 2,
    "d": "Spec defines the specification of the desired behavior of the replication controller. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ReplicationControllerStatus",
    "o": 1,
    "p": 3,
    "d": "Status is the most recently observed status of the replication controller. This data may be out of date by some window of time. Populated by the system. Read-only. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.core.v1.ReplicationControllerCondition": {
  "go": "v1.ReplicationControllerCondition",
  "d": "ReplicationControllerCondition describes the state of a replication controller at a certain point.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.core.v1.ReplicationControllerConditionType",
    "p": 1,
    "req": 1,
    "d": "Type of replication controller condition."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ConditionStatus",
    "p": 2,
    "req": 1,
    "d": "Status of the condition, one of True, False, Unknown."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 3,
    "d": "The last time the condition transitioned from one status to another."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "The reason for the condition's last transition."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "A human readable message indicating details about the transition."
   }
  ]
 },
 "io.k8s.api.core.v1.ReplicationControllerConditionType": {
  "go": "v1.ReplicationControllerConditionType",
  "u": "string"
 },
 "io.k8s.api.core.v1.ReplicationControllerList": {
  "go": "v1.ReplicationControllerList",
  "d": "ReplicationControllerList is a collection of replication controllers.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.ReplicationController",
    "p": 2,
    "req": 1,
    "d": "List of replication controllers. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller"
   }
  ]
 },
 "io.k8s.api.core.v1.ReplicationControllerSpec": {
  "go": "v1.ReplicationControllerSpec",
  "d": "ReplicationControllerSpec is the specification of a replication controller.",
  "f": [
   {
    "j": "replicas",
    "t": "*int32",
    "o": 1,
    "p": 1,
    "def": "1",
    "d": "Replicas is the number of desired replicas. This is a pointer to distinguish between explicit zero and unspecified. Defaults to 1. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#what-is-a-replicationcontroller"
   },
   {
    "j": "minReadySeconds",
    "t": "int32",
    "o": 1,
    "p": 4,
    "def": "0",
    "d": "Minimum number of seconds for which a newly created pod should be ready without any of its container crashing, for it to be considered available. Defaults to 0 (pod will be considered available as soon as it is ready)"
   },
   {
    "j": "selector",
    "t": "map[string]string",
    "o": 1,
    "p": 2,
    "st": "atomic",
    "d": "Selector is a label query over pods that should match the Replicas count. If Selector is empty, it is defaulted to the labels present on the Pod template. Label keys and values that must match in order to be controlled by this replication controller, if empty defaulted to labels on Pod template. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors"
   },
   {
    "j": "template",
    "t": "*@io.k8s.api.core.v1.PodTemplateSpec",
    "o": 1,
    "p": 3,
    "d": "Template is the object that describes the pod that will be created if insufficient replicas are detected. This takes precedence over a TemplateRef. The only allowed template.spec.restartPolicy value is \"Always\". More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#pod-template"
   }
  ]
 },
 "io.k8s.api.core.v1.ReplicationControllerStatus": {
  "go": "v1.ReplicationControllerStatus",
  "d": "ReplicationControllerStatus represents the current status of a replication controller.",
  "f": [
   {
    "j": "replicas",
    "t": "int32",
    "p": 1,
    "req": 1,
    "d": "Replicas is the most recently observed number of replicas. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#what-is-a-replicationcontroller"
   },
   {
    "j": "fullyLabeledReplicas",
    "t": "int32",
    "o": 1,
    "p": 2,
    "d": "The number of pods that have labels matching the labels of the pod template of the replication controller."
   },
   {
    "j": "readyReplicas",
    "t": "int32",
    "o": 1,
    "p": 4,
    "d": "The number of ready replicas for this replication controller."
   },
   {
    "j": "availableReplicas",
    "t": "int32",
    "o": 1,
    "p": 5,
    "d": "The number of available replicas (ready for at least minReadySeconds) for this replication controller."
   },
   {
    "j": "observedGeneration",
    "t": "int64",
    "o": 1,
    "p": 3,
    "d": "ObservedGeneration reflects the generation of the most recently observed replication controller."
   },
   {
    "j": "conditions",
    "t": "[]@io.k8s.api.core.v1.ReplicationControllerCondition",
    "o": 1,
    "p": 6,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "Represents the latest available observations of a replication controller's current state."
   }
  ]
 },
 "io.k8s.api.core.v1.ResourceClaim": {
  "go": "v1.ResourceClaim",
  "d": "ResourceClaim references one entry in PodSpec.ResourceClaims.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Name must match the name of one entry in pod.spec.resourceClaims of the Pod where this field is used. It makes that resource available inside a container."
   },
   {
    "j": "request",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "Request is the name chosen for a request in the referenced claim. If empty, everything from the claim is made available, otherwise only the result of this request."
   }
  ]
 },
 "io.k8s.api.core.v1.ResourceFieldSelector": {
  "go": "v1.ResourceFieldSelector",
  "d": "ResourceFieldSelector represents container resources (cpu, memory) and their output format",
  "f": [
   {
    "j": "containerName",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Container name: required for volumes, optional for env vars"
   },
   {
    "j": "resource",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "Required: resource to select"
   },
   {
    "j": "divisor",
    "t": "@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 3,
    "d": "Specifies the output format of the exposed resources, defaults to \"1\""
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.core.v1.ResourceHealth": {
  "go": "v1.ResourceHealth",
  "d": "ResourceHealth represents the health of a resource. It has the latest device health information. This is a part of KEP https://kep.k8s.io/4680.",
  "f": [
   {
    "j": "resourceID",
    "t": "@io.k8s.api.core.v1.ResourceID",
    "p": 1,
    "req": 1,
    "d": "ResourceID is the unique identifier of the resource. See the ResourceID type for more information."
   },
   {
    "j": "health",
    "t": "@io.k8s.api.core.v1.ResourceHealthStatus",
    "o": 1,
    "p": 2,
    "d": "Health of the resource. can be one of:\n - Healthy: operates as normal\n - Unhealthy: reported unhealthy. We consider this a temporary health issue\n              since we do not have a mechanism today to distinguish\n              temporary and permanent issues.\n - Unknown: The status cannot be determined.\n            For example, Device Plugin got unregistered and hasn't been re-registered since.\n\nIn future we may want to introduce the PermanentlyUnhealthy Status."
   },
   {
    "j": "message",
    "t": "*string",
    "o": 1,
    "p": 6,
    "d": "Message provides human-readable context for Health (e.g. \"ECC error count exceeded threshold\"). This field is populated by the kubelet when ResourceHealthStatusMessage is enabled if the DRA plugin returns a message, and is null otherwise."
   }
  ]
 },
 "io.k8s.api.core.v1.ResourceHealthStatus": {
  "go": "v1.ResourceHealthStatus",
  "u": "string"
 },
 "io.k8s.api.core.v1.ResourceID": {
  "go": "v1.ResourceID",
  "u": "string"
 },
 "io.k8s.api.core.v1.ResourceList": {
  "go": "v1.ResourceList",
  "u": "map[string]@io.k8s.apimachinery.pkg.api.resource.Quantity"
 },
 "io.k8s.api.core.v1.ResourceName": {
  "go": "v1.ResourceName",
  "u": "string"
 },
 "io.k8s.api.core.v1.ResourceQuota": {
  "go": "v1.ResourceQuota",
  "d": "ResourceQuota sets aggregate quota restrictions enforced per namespace",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.core.v1.ResourceQuotaSpec",
    "o": 1,
    "p": 2,
    "d": "Spec defines the desired quota. https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ResourceQuotaStatus",
    "o": 1,
    "p": 3,
    "d": "Status defines the actual enforced quota and its current usage. https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.core.v1.ResourceQuotaList": {
  "go": "v1.ResourceQuotaList",
  "d": "ResourceQuotaList is a list of ResourceQuota items.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.ResourceQuota",
    "p": 2,
    "req": 1,
    "d": "Items is a list of ResourceQuota objects. More info: https://kubernetes.io/docs/concepts/policy/resource-quotas/"
   }
  ]
 },
 "io.k8s.api.core.v1.ResourceQuotaScope": {
  "go": "v1.ResourceQuotaScope",
  "u": "string"
 },
 "io.k8s.api.core.v1.ResourceQuotaSpec": {
  "go": "v1.ResourceQuotaSpec",
  "d": "ResourceQuotaSpec defines the desired hard limits to enforce for Quota.",
  "f": [
   {
    "j": "hard",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 1,
    "d": "hard is the set of desired hard limits for each named resource. More info: https://kubernetes.io/docs/concepts/policy/resource-quotas/"
   },
   {
    "j": "scopes",
    "t": "[]@io.k8s.api.core.v1.ResourceQuotaScope",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "A collection of filters that must match each object tracked by a quota. If not specified, the quota matches all objects."
   },
   {
    "j": "scopeSelector",
    "t": "*@io.k8s.api.core.v1.ScopeSelector",
    "o": 1,
    "p": 3,
    "d": "scopeSelector is also a collection of filters like scopes that must match each object tracked by a quota but expressed using ScopeSelectorOperator in combination with possible values. For a resource to match, both scopes AND scopeSelector (if specified in spec), must be matched."
   }
  ]
 },
 "io.k8s.api.core.v1.ResourceQuotaStatus": {
  "go": "v1.ResourceQuotaStatus",
  "d": "ResourceQuotaStatus defines the enforced hard limits and observed use.",
  "f": [
   {
    "j": "hard",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 1,
    "d": "Hard is the set of enforced hard limits for each named resource. More info: https://kubernetes.io/docs/concepts/policy/resource-quotas/"
   },
   {
    "j": "used",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 2,
    "d": "Used is the current observed total usage of the resource in the namespace."
   }
  ]
 },
 "io.k8s.api.core.v1.ResourceRequirements": {
  "go": "v1.ResourceRequirements",
  "d": "ResourceRequirements describes the compute resource requirements.",
  "f": [
   {
    "j": "limits",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 1,
    "d": "Limits describes the maximum amount of compute resources allowed. More info: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"
   },
   {
    "j": "requests",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 2,
    "d": "Requests describes the minimum amount of compute resources required. If Requests is omitted for a container, it defaults to Limits if that is explicitly specified, otherwise to an implementation-defined value. Requests cannot exceed Limits. More info: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"
   },
   {
    "j": "claims",
    "t": "[]@io.k8s.api.core.v1.ResourceClaim",
    "o": 1,
    "p": 3,
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "Claims lists the names of resources, defined in spec.resourceClaims, that are used by this container.\n\nThis field depends on the DynamicResourceAllocation feature gate.\n\nThis field is immutable. It can only be set for containers."
   }
  ]
 },
 "io.k8s.api.core.v1.ResourceResizeRestartPolicy": {
  "go": "v1.ResourceResizeRestartPolicy",
  "u": "string"
 },
 "io.k8s.api.core.v1.ResourceStatus": {
  "go": "v1.ResourceStatus",
  "d": "ResourceStatus represents the status of a single resource allocated to a Pod.",
  "f": [
   {
    "j": "name",
    "t": "@io.k8s.api.core.v1.ResourceName",
    "p": 1,
    "req": 1,
    "d": "Name of the resource. Must be unique within the pod and in case of non-DRA resource, match one of the resources from the pod spec. For DRA resources, the value must be \"claim:<claim_name>/<request>\" when container.resources.claims[*].request is set or \"claim:<claim_name>\" when container.resources.claims[*].request is empty. For DRA-backed extended resources, \"claim:<claim_name>/<request>\" is used when the claim name and request name are recorded in pod.status.extendedResourceClaimStatus. When this status is reported about a container, the \"claim_name\" and \"request\" must match one of the claims of this container."
   },
   {
    "j": "resources",
    "t": "[]@io.k8s.api.core.v1.ResourceHealth",
    "o": 1,
    "p": 2,
    "lt": "map",
    "lk": [
     "resourceID"
    ],
    "d": "List of unique resources health. Each element in the list contains an unique resource ID and its health. At a minimum, for the lifetime of a Pod, resource ID must uniquely identify the resource allocated to the Pod on the Node. If other Pod on the same Node reports the status with the same resource ID, it must be the same resource they share. See ResourceID type definition for a specific format it has in various use cases."
   }
  ]
 },
 "io.k8s.api.core.v1.RestartPolicy": {
  "go": "v1.RestartPolicy",
  "u": "string"
 },
 "io.k8s.api.core.v1.SELinuxOptions": {
  "go": "v1.SELinuxOptions",
  "d": "SELinuxOptions are the labels to be applied to the container",
  "f": [
   {
    "j": "user",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "User is a SELinux user label that applies to the container."
   },
   {
    "j": "role",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "Role is a SELinux role label that applies to the container."
   },
   {
    "j": "type",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "Type is a SELinux type label that applies to the container."
   },
   {
    "j": "level",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "Level is SELinux level label that applies to the container."
   }
  ]
 },
 "io.k8s.api.core.v1.ScaleIOPersistentVolumeSource": {
  "go": "v1.ScaleIOPersistentVolumeSource",
  "d": "ScaleIOPersistentVolumeSource represents a persistent ScaleIO volume",
  "f": [
   {
    "j": "gateway",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "gateway is the host address of the ScaleIO API Gateway."
   },
   {
    "j": "system",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "system is the name of the storage system as configured in ScaleIO."
   },
   {
    "j": "secretRef",
    "t": "*@io.k8s.api.core.v1.SecretReference",
    "p": 3,
    "req": 1,
    "d": "secretRef references to the secret for ScaleIO user and other sensitive information. If this is not provided, Login operation will fail."
   },
   {
    "j": "sslEnabled",
    "t": "bool",
    "o": 1,
    "p": 4,
    "d": "sslEnabled is the flag to enable/disable SSL communication with Gateway, default false"
   },
   {
    "j": "protectionDomain",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "protectionDomain is the name of the ScaleIO Protection Domain for the configured storage."
   },
   {
    "j": "storagePool",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "storagePool is the ScaleIO Storage Pool associated with the protection domain."
   },
   {
    "j": "storageMode",
    "t": "string",
    "o": 1,
    "p": 7,
    "def": "\"ThinProvisioned\"",
    "d": "storageMode indicates whether the storage for a volume should be ThickProvisioned or ThinProvisioned. Default is ThinProvisioned."
   },
   {
    "j": "volumeName",
    "t": "string",
    "o": 1,
    "p": 8,
    "d": "volumeName is the name of a volume already created in the ScaleIO system that is associated with this volume source."
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 9,
    "def": "\"xfs\"",
    "d": "fsType is the filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex. \"ext4\", \"xfs\", \"ntfs\". Default is \"xfs\""
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 10,
    "d": "readOnly defaults to false (read/write). ReadOnly here will force the ReadOnly setting in VolumeMounts."
   }
  ]
 },
 "io.k8s.api.core.v1.ScaleIOVolumeSource": {
  "go": "v1.ScaleIOVolumeSource",
  "d": "ScaleIOVolumeSource represents a persistent ScaleIO volume",
  "f": [
   {
    "j": "gateway",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "gateway is the host address of the ScaleIO API Gateway."
   },
   {
    "j": "system",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "system is the name of the storage system as configured in ScaleIO."
   },
   {
    "j": "secretRef",
    "t": "*@io.k8s.api.core.v1.LocalObjectReference",
    "p": 3,
    "req": 1,
    "d": "secretRef references to the secret for ScaleIO user and other sensitive information. If this is not provided, Login operation will fail."
   },
   {
    "j": "sslEnabled",
    "t": "bool",
    "o": 1,
    "p": 4,
    "d": "sslEnabled Flag enable/disable SSL communication with Gateway, default false"
   },
   {
    "j": "protectionDomain",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "protectionDomain is the name of the ScaleIO Protection Domain for the configured storage."
   },
   {
    "j": "storagePool",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "storagePool is the ScaleIO Storage Pool associated with the protection domain."
   },
   {
    "j": "storageMode",
    "t": "string",
    "o": 1,
    "p": 7,
    "def": "\"ThinProvisioned\"",
    "d": "storageMode indicates whether the storage for a volume should be ThickProvisioned or ThinProvisioned. Default is ThinProvisioned."
   },
   {
    "j": "volumeName",
    "t": "string",
    "o": 1,
    "p": 8,
    "d": "volumeName is the name of a volume already created in the ScaleIO system that is associated with this volume source."
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 9,
    "def": "\"xfs\"",
    "d": "fsType is the filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex. \"ext4\", \"xfs\", \"ntfs\". Default is \"xfs\"."
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 10,
    "d": "readOnly Defaults to false (read/write). ReadOnly here will force the ReadOnly setting in VolumeMounts."
   }
  ]
 },
 "io.k8s.api.core.v1.ScopeSelector": {
  "go": "v1.ScopeSelector",
  "d": "A scope selector represents the AND of the selectors represented by the scoped-resource selector requirements.",
  "f": [
   {
    "j": "matchExpressions",
    "t": "[]@io.k8s.api.core.v1.ScopedResourceSelectorRequirement",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "A list of scope selector requirements by scope of the resources."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.core.v1.ScopeSelectorOperator": {
  "go": "v1.ScopeSelectorOperator",
  "u": "string"
 },
 "io.k8s.api.core.v1.ScopedResourceSelectorRequirement": {
  "go": "v1.ScopedResourceSelectorRequirement",
  "d": "A scoped-resource selector requirement is a selector that contains values, a scope name, and an operator that relates the scope name and values.",
  "f": [
   {
    "j": "scopeName",
    "t": "@io.k8s.api.core.v1.ResourceQuotaScope",
    "p": 1,
    "req": 1,
    "d": "The name of the scope that the selector applies to."
   },
   {
    "j": "operator",
    "t": "@io.k8s.api.core.v1.ScopeSelectorOperator",
    "p": 2,
    "req": 1,
    "d": "Represents a scope's relationship to a set of values. Valid operators are In, NotIn, Exists, DoesNotExist."
   },
   {
    "j": "values",
    "t": "[]string",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "An array of string values. If the operator is In or NotIn, the values array must be non-empty. If the operator is Exists or DoesNotExist, the values array must be empty. This array is replaced during a strategic merge patch."
   }
  ]
 },
 "io.k8s.api.core.v1.SeccompProfile": {
  "go": "v1.SeccompProfile",
  "d": "SeccompProfile defines a pod/container's seccomp profile settings. Only one profile source may be set.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.core.v1.SeccompProfileType",
    "p": 1,
    "req": 1,
    "d": "type indicates which kind of seccomp profile will be applied. Valid options are:\n\nLocalhost - a profile defined in a file on the node should be used. RuntimeDefault - the container runtime default profile should be used. Unconfined - no profile should be applied."
   },
   {
    "j": "localhostProfile",
    "t": "*string",
    "o": 1,
    "p": 2,
    "d": "localhostProfile indicates a profile defined in a file on the node should be used. The profile must be preconfigured on the node to work. Must be a descending path, relative to the kubelet's configured seccomp profile location. Must be set if type is \"Localhost\". Must NOT be set for any other type."
   }
  ]
 },
 "io.k8s.api.core.v1.SeccompProfileType": {
  "go": "v1.SeccompProfileType",
  "u": "string"
 },
 "io.k8s.api.core.v1.Secret": {
  "go": "v1.Secret",
  "d": "Secret holds secret data of a certain type. The total bytes of the values in the Data field must be less than MaxSecretSize bytes.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "immutable",
    "t": "*bool",
    "o": 1,
    "p": 5,
    "d": "Immutable, if set to true, ensures that data stored in the Secret cannot be updated (only object metadata can be modified). If not set to true, the field can be modified at any time. Defaulted to nil."
   },
   {
    "j": "data",
    "t": "map[string]bytes",
    "o": 1,
    "p": 2,
    "d": "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4"
   },
   {
    "j": "stringData",
    "t": "map[string]string",
    "o": 1,
    "p": 4,
    "d": "stringData allows specifying non-binary secret data in string form. It is provided as a write-only input field for convenience. All keys and values are merged into the data field on write, overwriting any existing values. The stringData field is never output when reading from the API."
   },
   {
    "j": "type",
    "t": "@io.k8s.api.core.v1.SecretType",
    "o": 1,
    "p": 3,
    "d": "Used to facilitate programmatic handling of secret data. More info: https://kubernetes.io/docs/concepts/configuration/secret/#secret-types"
   }
  ]
 },
 "io.k8s.api.core.v1.SecretEnvSource": {
  "go": "v1.SecretEnvSource",
  "d": "SecretEnvSource selects a Secret to populate the environment variables with.\n\nThe contents of the target Secret's Data field will represent the key-value pairs as environment variables.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.api.core.v1.LocalObjectReference",
    "p": 1,
    "req": 1,
    "d": "The Secret to select from."
   },
   {
    "j": "optional",
    "t": "*bool",
    "o": 1,
    "p": 2,
    "d": "Specify whether the Secret must be defined"
   }
  ]
 },
 "io.k8s.api.core.v1.SecretKeySelector": {
  "go": "v1.SecretKeySelector",
  "d": "SecretKeySelector selects a key of a Secret.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.api.core.v1.LocalObjectReference",
    "p": 1,
    "req": 1,
    "d": "The name of the secret in the pod's namespace to select from."
   },
   {
    "j": "key",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "The key of the secret to select from.  Must be a valid secret key."
   },
   {
    "j": "optional",
    "t": "*bool",
    "o": 1,
    "p": 3,
    "d": "Specify whether the Secret or its key must be defined"
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.core.v1.SecretList": {
  "go": "v1.SecretList",
  "d": "SecretList is a list of Secret.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.Secret",
    "p": 2,
    "req": 1,
    "d": "Items is a list of secret objects. More info: https://kubernetes.io/docs/concepts/configuration/secret"
   }
  ]
 },
 "io.k8s.api.core.v1.SecretProjection": {
  "go": "v1.SecretProjection",
  "d": "Adapts a secret into a projected volume.\n\nThe contents of the target Secret's Data field will be presented in a projected volume as files using the keys in the Data field as the file names. Note that this is identical to a secret volume source without the default mode.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.api.core.v1.LocalObjectReference",
    "p": 1,
    "req": 1
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.KeyToPath",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "items if unspecified, each key-value pair in the Data field of the referenced Secret will be projected into the volume as a file whose name is the key and content is the value. If specified, the listed keys will be projected into the specified paths, and unlisted keys will not be present. If a key is specified which is not present in the Secret, the volume setup will error unless it is marked optional. Paths must be relative and may not contain the '..' path or start with '..'."
   },
   {
    "j": "optional",
    "t": "*bool",
    "o": 1,
    "p": 4,
    "d": "optional field specify whether the Secret or its key must be defined"
   }
  ]
 },
 "io.k8s.api.core.v1.SecretReference": {
  "go": "v1.SecretReference",
  "d": "SecretReference represents a Secret Reference. It has enough information to retrieve secret in any namespace",
  "f": [
   {
    "j": "name",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "name is unique within a namespace to reference a secret resource."
   },
   {
    "j": "namespace",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "namespace defines the space within which the secret name must be unique."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.core.v1.SecretType": {
  "go": "v1.SecretType",
  "u": "string"
 },
 "io.k8s.api.core.v1.SecretVolumeSource": {
  "go": "v1.SecretVolumeSource",
  "d": "Adapts a Secret into a volume.\n\nThe contents of the target Secret's Data field will be presented in a volume as files using the keys in the Data field as the file names. Secret volumes support ownership management and SELinux relabeling.",
  "f": [
   {
    "j": "secretName",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "secretName is the name of the secret in the pod's namespace to use. More info: https://kubernetes.io/docs/concepts/storage/volumes#secret"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.KeyToPath",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "items If unspecified, each key-value pair in the Data field of the referenced Secret will be projected into the volume as a file whose name is the key and content is the value. If specified, the listed keys will be projected into the specified paths, and unlisted keys will not be present. If a key is specified which is not present in the Secret, the volume setup will error unless it is marked optional. Paths must be relative and may not contain the '..' path or start with '..'."
   },
   {
    "j": "defaultMode",
    "t": "*int32",
    "o": 1,
    "p": 3,
    "d": "defaultMode is Optional: mode bits used to set permissions on created files by default. Must be an octal value between 0000 and 0777 or a decimal value between 0 and 511. YAML accepts both octal and decimal values, JSON requires decimal values for mode bits. Defaults to 0644. Directories within the path are not affected by this setting. This might be in conflict with other options that affect the file mode, like fsGroup, and the result can be other mode bits set."
   },
   {
    "j": "optional",
    "t": "*bool",
    "o": 1,
    "p": 4,
    "d": "optional field specify whether the Secret or its keys must be defined"
   },
   {
    "j": "defaultUser",
    "t": "*int64",
    "o": 1,
    "p": 5,
    "d": "defaultUser is Optional: The owner UID of the created files by default. The defaultUser field is only used as a fallback when the item-level user field is unset. (Alpha) This field requires the AtomicWriteVolumeUserFields feature gate to be enabled."
   }
  ]
 },
 "io.k8s.api.core.v1.SecurityContext": {
  "go": "v1.SecurityContext",
  "d": "SecurityContext holds security configuration that will be applied to a container. Some fields are present in both SecurityContext and PodSecurityContext.  When both are set, the values in SecurityContext take precedence.",
  "f": [
   {
    "j": "capabilities",
    "t": "*@io.k8s.api.core.v1.Capabilities",
    "o": 1,
    "p": 1,
    "d": "The capabilities to add/drop when running containers. Defaults to the default set of capabilities granted by the container runtime. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "privileged",
    "t": "*bool",
    "o": 1,
    "p": 2,
    "d": "Run container in privileged mode. Processes in privileged containers are essentially equivalent to root on the host. Defaults to false. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "seLinuxOptions",
    "t": "*@io.k8s.api.core.v1.SELinuxOptions",
    "o": 1,
    "p": 3,
    "d": "The SELinux context to be applied to the container. If unspecified, the container runtime will allocate a random SELinux context for each container.  May also be set in PodSecurityContext.  If set in both SecurityContext and PodSecurityContext, the value specified in SecurityContext takes precedence. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "windowsOptions",
    "t": "*@io.k8s.api.core.v1.WindowsSecurityContextOptions",
    "o": 1,
    "p": 10,
    "d": "The Windows specific settings applied to all containers. If unspecified, the options from the PodSecurityContext will be used. If set in both SecurityContext and PodSecurityContext, the value specified in SecurityContext takes precedence. Note that this field cannot be set when spec.os.name is linux."
   },
   {
    "j": "runAsUser",
    "t": "*int64",
    "o": 1,
    "p": 4,
    "d": "The UID to run the entrypoint of the container process. Defaults to user specified in image metadata if unspecified. May also be set in PodSecurityContext.  If set in both SecurityContext and PodSecurityContext, the value specified in SecurityContext takes precedence. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "runAsGroup",
    "t": "*int64",
    "o": 1,
    "p": 8,
    "d": "The GID to run the entrypoint of the container process. Uses runtime default if unset. May also be set in PodSecurityContext.  If set in both SecurityContext and PodSecurityContext, the value specified in SecurityContext takes precedence. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "runAsNonRoot",
    "t": "*bool",
    "o": 1,
    "p": 5,
    "d": "Indicates that the container must run as a non-root user. If true, the Kubelet will validate the image at runtime to ensure that it does not run as UID 0 (root) and fail to start the container if it does. If unset or false, no such validation will be performed. May also be set in PodSecurityContext.  If set in both SecurityContext and PodSecurityContext, the value specified in SecurityContext takes precedence."
   },
   {
    "j": "readOnlyRootFilesystem",
    "t": "*bool",
    "o": 1,
    "p": 6,
    "d": "Whether this container has a read-only root filesystem. Default is false. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "allowPrivilegeEscalation",
    "t": "*bool",
    "o": 1,
    "p": 7,
    "d": "AllowPrivilegeEscalation controls whether a process can gain more privileges than its parent process. This bool directly controls if the no_new_privs flag will be set on the container process. AllowPrivilegeEscalation is true always when the container is: 1) run as Privileged 2) has CAP_SYS_ADMIN Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "procMount",
    "t": "*@io.k8s.api.core.v1.ProcMountType",
    "o": 1,
    "p": 9,
    "d": "procMount denotes the type of proc mount to use for the containers. The default value is Default which uses the container runtime defaults for readonly paths and masked paths. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "seccompProfile",
    "t": "*@io.k8s.api.core.v1.SeccompProfile",
    "o": 1,
    "p": 11,
    "d": "The seccomp options to use by this container. If seccomp options are provided at both the pod & container level, the container options override the pod options. Note that this field cannot be set when spec.os.name is windows."
   },
   {
    "j": "appArmorProfile",
    "t": "*@io.k8s.api.core.v1.AppArmorProfile",
    "o": 1,
    "p": 12,
    "d": "appArmorProfile is the AppArmor options to use by this container. If set, this profile overrides the pod's appArmorProfile. Note that this field cannot be set when spec.os.name is windows."
   }
  ]
 },
 "io.k8s.api.core.v1.Service": {
  "go": "v1.Service",
  "d": "Service is a named abstraction of software service (for example, mysql) consisting of local port (for example 3306) that the proxy listens on, and the selector that determines which pods will answer requests sent through the proxy.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.core.v1.ServiceSpec",
    "o": 1,
    "p": 2,
    "d": "Spec defines the behavior of a service. https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.ServiceStatus",
    "o": 1,
    "p": 3,
    "d": "Most recently observed status of the service. Populated by the system. Read-only. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.core.v1.ServiceAccount": {
  "go": "v1.ServiceAccount",
  "d": "ServiceAccount binds together: * a name, understood by users, and perhaps by peripheral systems, for an identity * a principal that can be authenticated and authorized * a set of secrets",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "secrets",
    "t": "[]@io.k8s.api.core.v1.ObjectReference",
    "o": 1,
    "p": 2,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "Secrets is a list of the secrets in the same namespace that pods running using this ServiceAccount are allowed to use. Pods are only limited to this list if this service account has a \"kubernetes.io/enforce-mountable-secrets\" annotation set to \"true\". The \"kubernetes.io/enforce-mountable-secrets\" annotation is deprecated since v1.32. Prefer separate namespaces to isolate access to mounted secrets. This field should not be used to find auto-generated service account token secrets for use outside of pods. Instead, tokens can be requested directly using the TokenRequest API, or service account token secrets can be manually created. More info: https://kubernetes.io/docs/concepts/configuration/secret"
   },
   {
    "j": "imagePullSecrets",
    "t": "[]@io.k8s.api.core.v1.LocalObjectReference",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "ImagePullSecrets is a list of references to secrets in the same namespace to use for pulling any images in pods that reference this ServiceAccount. ImagePullSecrets are distinct from Secrets because Secrets can be mounted in the pod, but ImagePullSecrets are only accessed by the kubelet. More info: https://kubernetes.io/docs/concepts/containers/images/#specifying-imagepullsecrets-on-a-pod"
   },
   {
    "j": "automountServiceAccountToken",
    "t": "*bool",
    "o": 1,
    "p": 4,
    "d": "AutomountServiceAccountToken indicates whether pods running as this service account should have an API token automatically mounted. Can be overridden at the pod level."
   }
  ]
 },
 "io.k8s.api.core.v1.ServiceAccountList": {
  "go": "v1.ServiceAccountList",
  "d": "ServiceAccountList is a list of ServiceAccount objects",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.ServiceAccount",
    "p": 2,
    "req": 1,
    "d": "List of ServiceAccounts. More info: https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/"
   }
  ]
 },
 "io.k8s.api.core.v1.ServiceAccountTokenProjection": {
  "go": "v1.ServiceAccountTokenProjection",
  "d": "ServiceAccountTokenProjection represents a projected service account token volume. This projection can be used to insert a service account token into the pods runtime filesystem for use against APIs (Kubernetes API Server or otherwise).",
  "f": [
   {
    "j": "audience",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "audience is the intended audience of the token. A recipient of a token must identify itself with an identifier specified in the audience of the token, and otherwise should reject the token. The audience defaults to the identifier of the apiserver."
   },
   {
    "j": "expirationSeconds",
    "t": "*int64",
    "o": 1,
    "p": 2,
    "d": "expirationSeconds is the requested duration of validity of the service account token. As the token approaches expiration, the kubelet volume plugin will proactively rotate the service account token. The kubelet will start trying to rotate the token if the token is older than 80 percent of its time to live or if the token is older than 24 hours.Defaults to 1 hour and must be at least 10 minutes."
   },
   {
    "j": "path",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "path is the path relative to the mount point of the file to project the token into."
   },
   {
    "j": "user",
    "t": "*int64",
    "o": 1,
    "p": 4,
    "d": "user is Optional: The owner UID of the created file. If specified, the item-level user field takes precedence over defaultUser. (Alpha) This field requires the AtomicWriteVolumeUserFields feature gate to be enabled."
   }
  ]
 },
 "io.k8s.api.core.v1.ServiceAffinity": {
  "go": "v1.ServiceAffinity",
  "u": "string"
 },
 "io.k8s.api.core.v1.ServiceExternalTrafficPolicy": {
  "go": "v1.ServiceExternalTrafficPolicy",
  "u": "string"
 },
 "io.k8s.api.core.v1.ServiceInternalTrafficPolicy": {
  "go": "v1.ServiceInternalTrafficPolicy",
  "u": "string"
 },
 "io.k8s.api.core.v1.ServiceList": {
  "go": "v1.ServiceList",
  "d": "ServiceList holds a list of services.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.core.v1.Service",
    "p": 2,
    "req": 1,
    "d": "List of services"
   }
  ]
 },
 "io.k8s.api.core.v1.ServicePort": {
  "go": "v1.ServicePort",
  "d": "ServicePort contains information on service's port.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "The name of this port within the service. This must be a DNS_LABEL. All ports within a ServiceSpec must have unique names. When considering the endpoints for a Service, this must match the 'name' field in the EndpointPort. Optional if only one ServicePort is defined on this service."
   },
   {
    "j": "protocol",
    "t": "@io.k8s.api.core.v1.Protocol",
    "o": 1,
    "p": 2,
    "def": "\"TCP\"",
    "d": "The IP protocol for this port. Supports \"TCP\", \"UDP\", and \"SCTP\". Default is TCP."
   },
   {
    "j": "appProtocol",
    "t": "*string",
    "o": 1,
    "p": 6,
    "d": "The application protocol for this port. This is used as a hint for implementations to offer richer behavior for protocols that they understand. This field follows standard Kubernetes label syntax. Valid values are either:\n\n* Un-prefixed protocol names - reserved for IANA standard service names (as per RFC-6335 and https://www.iana.org/assignments/service-names).\n\n* Kubernetes-defined prefixed names:\n  * 'kubernetes.io/h2c' - HTTP/2 prior knowledge over cleartext as described in https://www.rfc-editor.org/rfc/rfc9113.html#name-starting-http-2-with-prior-\n  * 'kubernetes.io/ws'  - WebSocket over cleartext as described in https://www.rfc-editor.org/rfc/rfc6455\n  * 'kubernetes.io/wss' - WebSocket over TLS as described in https://www.rfc-editor.org/rfc/rfc6455\n\n* Other protocols should use implementation-defined prefixed names such as mycompany.com/my-custom-protocol."
   },
   {
    "j": "port",
    "t": "int32",
    "p": 3,
    "req": 1,
    "d": "The port that will be exposed by this service."
   },
   {
    "j": "targetPort",
    "t": "@io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "o": 1,
    "p": 4,
    "d": "Number or name of the port to access on the pods targeted by the service. Number must be in the range 1 to 65535. Name must be an IANA_SVC_NAME. If this is a string, it will be looked up as a named port in the target Pod's container ports. If this is not specified, the value of the 'port' field is used (an identity map). This field is ignored for services with clusterIP=None, and should be omitted or set equal to the 'port' field. More info: https://kubernetes.io/docs/concepts/services-networking/service/#defining-a-service"
   },
   {
    "j": "nodePort",
    "t": "int32",
    "o": 1,
    "p": 5,
    "d": "The port on each node on which this service is exposed when type is NodePort or LoadBalancer.  Usually assigned by the system. If a value is specified, in-range, and not in use it will be used, otherwise the operation will fail.  If not specified, a port will be allocated if this Service requires one.  If this field is specified when creating a Service which does not need it, creation will fail. This field will be wiped when updating a Service to no longer need it (e.g. changing type from NodePort to ClusterIP). More info: https://kubernetes.io/docs/concepts/services-networking/service/#type-nodeport"
   }
  ]
 },
 "io.k8s.api.core.v1.ServiceProxyOptions": {
  "go": "v1.ServiceProxyOptions",
  "d": "ServiceProxyOptions is the query options to a Service's proxy call.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "path",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Path is the part of URLs that include service endpoints, suffixes, and parameters to use for the current proxy request to service. For example, the whole request URL is http://localhost/api/v1/namespaces/kube-system/services/elasticsearch-logging/_search?q=user:kimchy. Path is _search?q=user:kimchy."
   }
  ]
 },
 "io.k8s.api.core.v1.ServiceSpec": {
  "go": "v1.ServiceSpec",
  "d": "ServiceSpec describes the attributes that a user creates on a service.",
  "f": [
   {
    "j": "ports",
    "t": "[]@io.k8s.api.core.v1.ServicePort",
    "o": 1,
    "p": 1,
    "ps": "merge",
    "pk": "port",
    "lt": "map",
    "lk": [
     "port",
     "protocol"
    ],
    "d": "The list of ports that are exposed by this service. More info: https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies"
   },
   {
    "j": "selector",
    "t": "map[string]string",
    "o": 1,
    "p": 2,
    "st": "atomic",
    "d": "Route service traffic to pods with label keys and values matching this selector. If empty or not present, the service is assumed to have an external process managing its endpoints, which Kubernetes will not modify. Only applies to types ClusterIP, NodePort, and LoadBalancer. Ignored if type is ExternalName. More info: https://kubernetes.io/docs/concepts/services-networking/service/"
   },
   {
    "j": "clusterIP",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "clusterIP is the IP address of the service and is usually assigned randomly. If an address is specified manually, is in-range (as per system configuration), and is not in use, it will be allocated to the service; otherwise creation of the service will fail. This field may not be changed through updates unless the type field is also being changed to ExternalName (which requires this field to be blank) or the type field is being changed from ExternalName (in which case this field may optionally be specified, as describe above).  Valid values are \"None\", empty string (\"\"), or a valid IP address. Setting this to \"None\" makes a \"headless service\" (no virtual IP), which is useful when direct endpoint connections are preferred and proxying is not required.  Only applies to types ClusterIP, NodePort, and LoadBalancer. If this field is specified when creating a Service of type ExternalName, creation will fail. This field will be wiped when updating a Service to type ExternalName. More info: https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies"
   },
   {
    "j": "clusterIPs",
    "t": "[]string",
    "o": 1,
    "p": 18,
    "lt": "atomic",
    "d": "ClusterIPs is a list of IP addresses assigned to this service, and are usually assigned randomly.  If an address is specified manually, is in-range (as per system configuration), and is not in use, it will be allocated to the service; otherwise creation of the service will fail. This field may not be changed through updates unless the type field is also being changed to ExternalName (which requires this field to be empty) or the type field is being changed from ExternalName (in which case this field may optionally be specified, as describe above).  Valid values are \"None\", empty string (\"\"), or a valid IP address.  Setting this to \"None\" makes a \"headless service\" (no virtual IP), which is useful when direct endpoint connections are preferred and proxying is not required.  Only applies to types ClusterIP, NodePort, and LoadBalancer. If this field is specified when creating a Service of type ExternalName, creation will fail. This field will be wiped when updating a Service to type ExternalName.  If this field is not specified, it will be initialized from the clusterIP field.  If this field is specified, clients must ensure that clusterIPs[0] and clusterIP have the same value.\n\nThis field may hold a maximum of two entries (dual-stack IPs, in either order). These IPs must correspond to the values of the ipFamilies field. Both clusterIPs and ipFamilies are governed by the ipFamilyPolicy field. More info: https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies"
   },
   {
    "j": "type",
    "t": "@io.k8s.api.core.v1.ServiceType",
    "o": 1,
    "p": 4,
    "d": "type determines how the Service is exposed. Defaults to ClusterIP. Valid options are ExternalName, ClusterIP, NodePort, and LoadBalancer. \"ClusterIP\" allocates a cluster-internal IP address for load-balancing to endpoints. Endpoints are determined by the selector or if that is not specified, by manual construction of an Endpoints object or EndpointSlice objects. If clusterIP is \"None\", no virtual IP is allocated and the endpoints are published as a set of endpoints rather than a virtual IP. \"NodePort\" builds on ClusterIP and allocates a port on every node which routes to the same endpoints as the clusterIP. \"LoadBalancer\" builds on NodePort and creates an external load-balancer (if supported in the current cloud) which routes to the same endpoints as the clusterIP. \"ExternalName\" aliases this service to the specified externalName. Several other fields do not apply to ExternalName services. More info: https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types"
   },
   {
    "j": "externalIPs",
    "t": "[]string",
    "o": 1,
    "p": 5,
    "lt": "atomic",
    "d": "externalIPs is a list of IP addresses for which nodes in the cluster will also accept traffic for this service.  These IPs are not managed by Kubernetes.  The user is responsible for ensuring that traffic arrives at a node with this IP.  A common example is external load-balancers that are not part of the Kubernetes system."
   },
   {
    "j": "sessionAffinity",
    "t": "@io.k8s.api.core.v1.ServiceAffinity",
    "o": 1,
    "p": 7,
    "d": "Supports \"ClientIP\" and \"None\". Used to maintain session affinity. Enable client IP based session affinity. Must be ClientIP or None. Defaults to None. More info: https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies"
   },
   {
    "j": "loadBalancerIP",
    "t": "string",
    "o": 1,
    "p": 8,
    "d": "Only applies to Service Type: LoadBalancer. This feature depends on whether the underlying cloud-provider supports specifying the loadBalancerIP when a load balancer is created. This field will be ignored if the cloud-provider does not support the feature. Deprecated: This field was under-specified and its meaning varies across implementations. Using it is non-portable and it may not support dual-stack. Users are encouraged to use implementation-specific annotations when available."
   },
   {
    "j": "loadBalancerSourceRanges",
    "t": "[]string",
    "o": 1,
    "p": 9,
    "lt": "atomic",
    "d": "If specified and supported by the platform, this will restrict traffic through the cloud-provider load-balancer will be restricted to the specified client IPs. This field will be ignored if the cloud-provider does not support the feature.\" More info: https://kubernetes.io/docs/tasks/access-application-cluster/create-external-load-balancer/"
   },
   {
    "j": "externalName",
    "t": "string",
    "o": 1,
    "p": 10,
    "d": "externalName is the external reference that discovery mechanisms will return as an alias for this service (e.g. a DNS CNAME record). No proxying will be involved.  Must be a lowercase RFC-1123 hostname (https://tools.ietf.org/html/rfc1123) and requires `type` to be \"ExternalName\"."
   },
   {
    "j": "externalTrafficPolicy",
    "t": "@io.k8s.api.core.v1.ServiceExternalTrafficPolicy",
    "o": 1,
    "p": 11,
    "d": "externalTrafficPolicy describes how nodes distribute service traffic they receive on one of the Service's \"externally-facing\" addresses (NodePorts, ExternalIPs, and LoadBalancer IPs). If set to \"Local\", the proxy will configure the service in a way that assumes that external load balancers will take care of balancing the service traffic between nodes, and so each node will deliver traffic only to the node-local endpoints of the service, without masquerading the client source IP. (Traffic mistakenly sent to a node with no endpoints will be dropped.) The default value, \"Cluster\", uses the standard behavior of routing to all endpoints evenly (possibly modified by topology and other features). Note that traffic sent to an External IP or LoadBalancer IP from within the cluster will always get \"Cluster\" semantics, but clients sending to a NodePort from within the cluster may need to take traffic policy into account when picking a node."
   },
   {
    "j": "healthCheckNodePort",
    "t": "int32",
    "o": 1,
    "p": 12,
    "d": "healthCheckNodePort specifies the healthcheck nodePort for the service. This only applies when type is set to LoadBalancer and externalTrafficPolicy is set to Local. If a value is specified, is in-range, and is not in use, it will be used.  If not specified, a value will be automatically allocated.  External systems (e.g. load-balancers) can use this port to determine if a given node holds endpoints for this service or not.  If this field is specified when creating a Service which does not need it, creation will fail. This field will be wiped when updating a Service to no longer need it (e.g. changing type). This field cannot be updated once set."
   },
   {
    "j": "publishNotReadyAddresses",
    "t": "bool",
    "o": 1,
    "p": 13,
    "d": "publishNotReadyAddresses indicates that any agent which deals with endpoints for this Service should disregard any indications of ready/not-ready. The primary use case for setting this field is for a StatefulSet's Headless Service to propagate SRV DNS records for its Pods for the purpose of peer discovery. The Kubernetes controllers that generate Endpoints and EndpointSlice resources for Services interpret this to mean that all endpoints are considered \"ready\" even if the Pods themselves are not. Agents which consume only Kubernetes generated endpoints through the Endpoints or EndpointSlice resources can safely assume this behavior."
   },
   {
    "j": "sessionAffinityConfig",
    "t": "*@io.k8s.api.core.v1.SessionAffinityConfig",
    "o": 1,
    "p": 14,
    "d": "sessionAffinityConfig contains the configurations of session affinity."
   },
   {
    "j": "ipFamilies",
    "t": "[]@io.k8s.api.core.v1.IPFamily",
    "o": 1,
    "p": 19,
    "lt": "atomic",
    "d": "IPFamilies is a list of IP families (e.g. IPv4, IPv6) assigned to this service. This field is usually assigned automatically based on cluster configuration and the ipFamilyPolicy field. If this field is specified manually, the requested family is available in the cluster, and ipFamilyPolicy allows it, it will be used; otherwise creation of the service will fail. This field is conditionally mutable: it allows for adding or removing a secondary IP family, but it does not allow changing the primary IP family of the Service. Valid values are \"IPv4\" and \"IPv6\".  This field only applies to Services of types ClusterIP, NodePort, and LoadBalancer, and does apply to \"headless\" services. This field will be wiped when updating a Service to type ExternalName.\n\nThis field may hold a maximum of two entries (dual-stack families, in either order).  These families must correspond to the values of the clusterIPs field, if specified. Both clusterIPs and ipFamilies are governed by the ipFamilyPolicy field."
   },
   {
    "j": "ipFamilyPolicy",
    "t": "*@io.k8s.api.core.v1.IPFamilyPolicy",
    "o": 1,
    "p": 17,
    "d": "IPFamilyPolicy represents the dual-stack-ness requested or required by this Service. If there is no value provided, then this field will be set to SingleStack. Services can be \"SingleStack\" (a single IP family), \"PreferDualStack\" (two IP families on dual-stack configured clusters or a single IP family on single-stack clusters), or \"RequireDualStack\" (two IP families on dual-stack configured clusters, otherwise fail). The ipFamilies and clusterIPs fields depend on the value of this field. This field will be wiped when updating a service to type ExternalName."
   },
   {
    "j": "allocateLoadBalancerNodePorts",
    "t": "*bool",
    "o": 1,
    "p": 20,
    "d": "allocateLoadBalancerNodePorts defines if NodePorts will be automatically allocated for services with type LoadBalancer.  Default is \"true\". It may be set to \"false\" if the cluster load-balancer does not rely on NodePorts.  If the caller requests specific NodePorts (by specifying a value), those requests will be respected, regardless of this field. This field may only be set for services with type LoadBalancer and will be cleared if the type is changed to any other type."
   },
   {
    "j": "loadBalancerClass",
    "t": "*string",
    "o": 1,
    "p": 21,
    "d": "loadBalancerClass is the class of the load balancer implementation this Service belongs to. If specified, the value of this field must be a label-style identifier, with an optional prefix, e.g. \"internal-vip\" or \"example.com/internal-vip\". Unprefixed names are reserved for end-users. This field can only be set when the Service type is 'LoadBalancer'. If not set, the default load balancer implementation is used, today this is typically done through the cloud provider integration, but should apply for any default implementation. If set, it is assumed that a load balancer implementation is watching for Services with a matching class. Any default load balancer implementation (e.g. cloud providers) should ignore Services that set this field. This field can only be set when creating or updating a Service to type 'LoadBalancer'. Once set, it can not be changed. This field will be wiped when a service is updated to a non 'LoadBalancer' type."
   },
   {
    "j": "internalTrafficPolicy",
    "t": "*@io.k8s.api.core.v1.ServiceInternalTrafficPolicy",
    "o": 1,
    "p": 22,
    "d": "InternalTrafficPolicy describes how nodes distribute service traffic they receive on the ClusterIP. If set to \"Local\", the proxy will assume that pods only want to talk to endpoints of the service on the same node as the pod, dropping the traffic if there are no local endpoints. The default value, \"Cluster\", uses the standard behavior of routing to all endpoints evenly (possibly modified by topology and other features)."
   },
   {
    "j": "trafficDistribution",
    "t": "*string",
    "o": 1,
    "p": 23,
    "d": "TrafficDistribution offers a way to express preferences for how traffic is distributed to Service endpoints. Implementations can use this field as a hint, but are not required to guarantee strict adherence. If the field is not set, the implementation will apply its default routing strategy. If set to \"PreferClose\", implementations should prioritize endpoints that are in the same zone."
   }
  ]
 },
 "io.k8s.api.core.v1.ServiceStatus": {
  "go": "v1.ServiceStatus",
  "d": "ServiceStatus represents the current status of a service.",
  "f": [
   {
    "j": "loadBalancer",
    "t": "@io.k8s.api.core.v1.LoadBalancerStatus",
    "o": 1,
    "p": 1,
    "d": "LoadBalancer contains the current status of the load-balancer, if one is present."
   },
   {
    "j": "conditions",
    "t": "[]@io.k8s.apimachinery.pkg.apis.meta.v1.Condition",
    "o": 1,
    "p": 2,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "Current service state"
   }
  ]
 },
 "io.k8s.api.core.v1.ServiceType": {
  "go": "v1.ServiceType",
  "u": "string"
 },
 "io.k8s.api.core.v1.SessionAffinityConfig": {
  "go": "v1.SessionAffinityConfig",
  "d": "SessionAffinityConfig represents the configurations of session affinity.",
  "f": [
   {
    "j": "clientIP",
    "t": "*@io.k8s.api.core.v1.ClientIPConfig",
    "o": 1,
    "p": 1,
    "d": "clientIP contains the configurations of Client IP based session affinity."
   }
  ]
 },
 "io.k8s.api.core.v1.Signal": {
  "go": "v1.Signal",
  "u": "string"
 },
 "io.k8s.api.core.v1.SleepAction": {
  "go": "v1.SleepAction",
  "d": "SleepAction describes a \"sleep\" action.",
  "f": [
   {
    "j": "seconds",
    "t": "int64",
    "p": 1,
    "req": 1,
    "d": "Seconds is the number of seconds to sleep."
   }
  ]
 },
 "io.k8s.api.core.v1.StorageMedium": {
  "go": "v1.StorageMedium",
  "u": "string"
 },
 "io.k8s.api.core.v1.StorageOSPersistentVolumeSource": {
  "go": "v1.StorageOSPersistentVolumeSource",
  "d": "Represents a StorageOS persistent volume resource.",
  "f": [
   {
    "j": "volumeName",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "volumeName is the human-readable name of the StorageOS volume.  Volume names are only unique within a namespace."
   },
   {
    "j": "volumeNamespace",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "volumeNamespace specifies the scope of the volume within StorageOS.  If no namespace is specified then the Pod's namespace will be used.  This allows the Kubernetes name scoping to be mirrored within StorageOS for tighter integration. Set VolumeName to any name to override the default behaviour. Set to \"default\" if you are not using namespaces within StorageOS. Namespaces that do not pre-exist within StorageOS will be created."
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "fsType is the filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex. \"ext4\", \"xfs\", \"ntfs\". Implicitly inferred to be \"ext4\" if unspecified."
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 4,
    "d": "readOnly defaults to false (read/write). ReadOnly here will force the ReadOnly setting in VolumeMounts."
   },
   {
    "j": "secretRef",
    "t": "*@io.k8s.api.core.v1.ObjectReference",
    "o": 1,
    "p": 5,
    "d": "secretRef specifies the secret to use for obtaining the StorageOS API credentials.  If not specified, default values will be attempted."
   }
  ]
 },
 "io.k8s.api.core.v1.StorageOSVolumeSource": {
  "go": "v1.StorageOSVolumeSource",
  "d": "Represents a StorageOS persistent volume resource.",
  "f": [
   {
    "j": "volumeName",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "volumeName is the human-readable name of the StorageOS volume.  Volume names are only unique within a namespace."
   },
   {
    "j": "volumeNamespace",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "volumeNamespace specifies the scope of the volume within StorageOS.  If no namespace is specified then the Pod's namespace will be used.  This allows the Kubernetes name scoping to be mirrored within StorageOS for tighter integration. Set VolumeName to any name to override the default behaviour. Set to \"default\" if you are not using namespaces within StorageOS. Namespaces that do not pre-exist within StorageOS will be created."
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "fsType is the filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex. \"ext4\", \"xfs\", \"ntfs\". Implicitly inferred to be \"ext4\" if unspecified."
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 4,
    "d": "readOnly defaults to false (read/write). ReadOnly here will force the ReadOnly setting in VolumeMounts."
   },
   {
    "j": "secretRef",
    "t": "*@io.k8s.api.core.v1.LocalObjectReference",
    "o": 1,
    "p": 5,
    "d": "secretRef specifies the secret to use for obtaining the StorageOS API credentials.  If not specified, default values will be attempted."
   }
  ]
 },
 "io.k8s.api.core.v1.SupplementalGroupsPolicy": {
  "go": "v1.SupplementalGroupsPolicy",
  "u": "string"
 },
 "io.k8s.api.core.v1.Sysctl": {
  "go": "v1.Sysctl",
  "d": "Sysctl defines a kernel parameter to be set",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Name of a property to set"
   },
   {
    "j": "value",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "Value of a property to set"
   }
  ]
 },
 "io.k8s.api.core.v1.TCPSocketAction": {
  "go": "v1.TCPSocketAction",
  "d": "TCPSocketAction describes an action based on opening a socket",
  "f": [
   {
    "j": "port",
    "t": "@io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "p": 1,
    "req": 1,
    "d": "Number or name of the port to access on the container. Number must be in the range 1 to 65535. Name must be an IANA_SVC_NAME."
   },
   {
    "j": "host",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "Optional: Host name to connect to, defaults to the pod IP."
   }
  ]
 },
 "io.k8s.api.core.v1.Taint": {
  "go": "v1.Taint",
  "d": "The node this Taint is attached to has the \"effect\" on any pod that does not tolerate the Taint.",
  "f": [
   {
    "j": "key",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Required. The taint key to be applied to a node."
   },
   {
    "j": "value",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "The taint value corresponding to the taint key."
   },
   {
    "j": "effect",
    "t": "@io.k8s.api.core.v1.TaintEffect",
    "p": 3,
    "req": 1,
    "d": "Required. The effect of the taint on pods that do not tolerate the taint. Valid effects are NoSchedule, PreferNoSchedule and NoExecute."
   },
   {
    "j": "timeAdded",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 4,
    "d": "TimeAdded represents the time at which the taint was added."
   }
  ]
 },
 "io.k8s.api.core.v1.TaintEffect": {
  "go": "v1.TaintEffect",
  "u": "string"
 },
 "io.k8s.api.core.v1.TerminationMessagePolicy": {
  "go": "v1.TerminationMessagePolicy",
  "u": "string"
 },
 "io.k8s.api.core.v1.Toleration": {
  "go": "v1.Toleration",
  "d": "The pod this Toleration is attached to tolerates any taint that matches the triple <key,value,effect> using the matching operator <operator>.",
  "f": [
   {
    "j": "key",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Key is the taint key that the toleration applies to. Empty means match all taint keys. If the key is empty, operator must be Exists; this combination means to match all values and all keys."
   },
   {
    "j": "operator",
    "t": "@io.k8s.api.core.v1.TolerationOperator",
    "o": 1,
    "p": 2,
    "d": "Operator represents a key's relationship to the value. Valid operators are Exists, Equal, Lt, and Gt. Defaults to Equal. Exists is equivalent to wildcard for value, so that a pod can tolerate all taints of a particular category. Lt and Gt perform numeric comparisons (requires feature gate TaintTolerationComparisonOperators)."
   },
   {
    "j": "value",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "Value is the taint value the toleration matches to. If the operator is Exists, the value should be empty, otherwise just a regular string."
   },
   {
    "j": "effect",
    "t": "@io.k8s.api.core.v1.TaintEffect",
    "o": 1,
    "p": 4,
    "d": "Effect indicates the taint effect to match. Empty means match all taint effects. When specified, allowed values are NoSchedule, PreferNoSchedule and NoExecute."
   },
   {
    "j": "tolerationSeconds",
    "t": "*int64",
    "o": 1,
    "p": 5,
    "d": "TolerationSeconds represents the period of time the toleration (which must be of effect NoExecute, otherwise this field is ignored) tolerates the taint. By default, it is not set, which means tolerate the taint forever (do not evict). Zero and negative values will be treated as 0 (evict immediately) by the system."
   }
  ]
 },
 "io.k8s.api.core.v1.TolerationOperator": {
  "go": "v1.TolerationOperator",
  "u": "string"
 },
 "io.k8s.api.core.v1.TopologySelectorLabelRequirement": {
  "go": "v1.TopologySelectorLabelRequirement",
  "d": "A topology selector requirement is a selector that matches given label. This is an alpha feature and may change in the future.",
  "f": [
   {
    "j": "key",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "The label key that the selector applies to."
   },
   {
    "j": "values",
    "t": "[]string",
    "p": 2,
    "lt": "atomic",
    "req": 1,
    "d": "An array of string values. One value must match the label to be selected. Each entry in Values is ORed."
   }
  ]
 },
 "io.k8s.api.core.v1.TopologySelectorTerm": {
  "go": "v1.TopologySelectorTerm",
  "d": "A topology selector term represents the result of label queries. A null or empty topology selector term matches no objects. The requirements of them are ANDed. It provides a subset of functionality as NodeSelectorTerm. This is an alpha feature and may change in the future.",
  "f": [
   {
    "j": "matchLabelExpressions",
    "t": "[]@io.k8s.api.core.v1.TopologySelectorLabelRequirement",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "A list of topology selector requirements by labels."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.core.v1.TopologySpreadConstraint": {
  "go": "v1.TopologySpreadConstraint",
  "d": "TopologySpreadConstraint specifies how to spread matching pods among the given topology.",
  "f": [
   {
    "j": "maxSkew",
    "t": "int32",
    "p": 1,
    "req": 1,
    "d": "MaxSkew describes the degree to which pods may be unevenly distributed. When `whenUnsatisfiable=DoNotSchedule`, it is the maximum permitted difference between the number of matching pods in the target topology and the global minimum. The global minimum is the minimum number of matching pods in an eligible domain or zero if the number of eligible domains is less than MinDomains. For example, in a 3-zone cluster, MaxSkew is set to 1, and pods with the same labelSelector spread as 2/2/1: In this case, the global minimum is 1. | zone1 | zone2 | zone3 | |  P P  |  P P  |   P   | - if MaxSkew is 1, incoming pod can only be scheduled to zone3 to become 2/2/2; scheduling it onto zone1(zone2) would make the ActualSkew(3-1) on zone1(zone2) violate MaxSkew(1). - if MaxSkew is 2, incoming pod can be scheduled onto any zone. When `whenUnsatisfiable=ScheduleAnyway`, it is used to give higher precedence to topologies that satisfy it. It's a required field. Default value is 1 and 0 is not allowed."
   },
   {
    "j": "topologyKey",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "TopologyKey is the key of node labels. Nodes that have a label with this key and identical values are considered to be in the same topology. We consider each <key, value> as a \"bucket\", and try to put balanced number of pods into each bucket. We define a domain as a particular instance of a topology. Also, we define an eligible domain as a domain whose nodes meet the requirements of nodeAffinityPolicy and nodeTaintsPolicy. e.g. If TopologyKey is \"kubernetes.io/hostname\", each Node is a domain of that topology. And, if TopologyKey is \"topology.kubernetes.io/zone\", each zone is a domain of that topology. It's a required field."
   },
   {
    "j": "whenUnsatisfiable",
    "t": "@io.k8s.api.core.v1.UnsatisfiableConstraintAction",
    "p": 3,
    "req": 1,
    "d": "WhenUnsatisfiable indicates how to deal with a pod if it doesn't satisfy the spread constraint. - DoNotSchedule (default) tells the scheduler not to schedule it. - ScheduleAnyway tells the scheduler to schedule the pod in any location,\n  but giving higher precedence to topologies that would help reduce the\n  skew.\nA constraint is considered \"Unsatisfiable\" for an incoming pod if and only if every possible node assignment for that pod would violate \"MaxSkew\" on some topology. For example, in a 3-zone cluster, MaxSkew is set to 1, and pods with the same labelSelector spread as 3/1/1: | zone1 | zone2 | zone3 | | P P P |   P   |   P   | If WhenUnsatisfiable is set to DoNotSchedule, incoming pod can only be scheduled to zone2(zone3) to become 3/2/1(3/1/2) as ActualSkew(2-1) on zone2(zone3) satisfies MaxSkew(1). In other words, the cluster can still be imbalanced, but scheduler won't make it *more* imbalanced. It's a required field."
   },
   {
    "j": "labelSelector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 4,
    "d": "LabelSelector is used to find matching pods. Pods that match this label selector are counted to determine the number of pods in their corresponding topology domain."
   },
   {
    "j": "minDomains",
    "t": "*int32",
    "o": 1,
    "p": 5,
    "d": "MinDomains indicates a minimum number of eligible domains. When the number of eligible domains with matching topology keys is less than minDomains, Pod Topology Spread treats \"global minimum\" as 0, and then the calculation of Skew is performed. And when the number of eligible domains with matching topology keys equals or greater than minDomains, this value has no effect on scheduling. As a result, when the number of eligible domains is less than minDomains, scheduler won't schedule more than maxSkew Pods to those domains. If value is nil, the constraint behaves as if MinDomains is equal to 1. Valid values are integers greater than 0. When value is not nil, WhenUnsatisfiable must be DoNotSchedule.\n\nFor example, in a 3-zone cluster, MaxSkew is set to 2, MinDomains is set to 5 and pods with the same labelSelector spread as 2/2/2: | zone1 | zone2 | zone3 | |  P P  |  P P  |  P P  | The number of domains is less than 5(MinDomains), so \"global minimum\" is treated as 0. In this situation, new pod with the same labelSelector cannot be scheduled, because computed skew will be 3(3 - 0) if new Pod is scheduled to any of the three zones, it will violate MaxSkew."
   },
   {
    "j": "nodeAffinityPolicy",
    "t": "*@io.k8s.api.core.v1.NodeInclusionPolicy",
    "o": 1,
    "p": 6,
    "d": "NodeAffinityPolicy indicates how we will treat Pod's nodeAffinity/nodeSelector when calculating pod topology spread skew. Options are: - Honor: only nodes matching nodeAffinity/nodeSelector are included in the calculations. - Ignore: nodeAffinity/nodeSelector are ignored. All nodes are included in the calculations.\n\nIf this value is nil, the behavior is equivalent to the Honor policy."
   },
   {
    "j": "nodeTaintsPolicy",
    "t": "*@io.k8s.api.core.v1.NodeInclusionPolicy",
    "o": 1,
    "p": 7,
    "d": "NodeTaintsPolicy indicates how we will treat node taints when calculating pod topology spread skew. Options are: - Honor: nodes without taints, along with tainted nodes for which the incoming pod has a toleration, are included. - Ignore: node taints are ignored. All nodes are included.\n\nIf this value is nil, the behavior is equivalent to the Ignore policy."
   },
   {
    "j": "matchLabelKeys",
    "t": "[]string",
    "o": 1,
    "p": 8,
    "lt": "atomic",
    "d": "MatchLabelKeys is a set of pod label keys to select the pods over which spreading will be calculated. The keys are used to lookup values from the incoming pod labels, those key-value labels are ANDed with labelSelector to select the group of existing pods over which spreading will be calculated for the incoming pod. The same key is forbidden to exist in both MatchLabelKeys and LabelSelector. MatchLabelKeys cannot be set when LabelSelector isn't set. Keys that don't exist in the incoming pod labels will be ignored. A null or empty list means only match against labelSelector.\n\nThis is a beta field and requires the MatchLabelKeysInPodTopologySpread feature gate to be enabled (enabled by default)."
   }
  ]
 },
 "io.k8s.api.core.v1.TypedLocalObjectReference": {
  "go": "v1.TypedLocalObjectReference",
  "d": "TypedLocalObjectReference contains enough information to let you locate the typed referenced object inside the same namespace.",
  "f": [
   {
    "j": "apiGroup",
    "t": "*string",
    "p": 1,
    "d": "APIGroup is the group for the resource being referenced. If APIGroup is not specified, the specified Kind must be in the core API group. For any other third-party types, APIGroup is required."
   },
   {
    "j": "kind",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "Kind is the type of resource being referenced"
   },
   {
    "j": "name",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "Name is the name of resource being referenced"
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.core.v1.TypedObjectReference": {
  "go": "v1.TypedObjectReference",
  "d": "TypedObjectReference contains enough information to let you locate the typed referenced object",
  "f": [
   {
    "j": "apiGroup",
    "t": "*string",
    "p": 1,
    "d": "APIGroup is the group for the resource being referenced. If APIGroup is not specified, the specified Kind must be in the core API group. For any other third-party types, APIGroup is required."
   },
   {
    "j": "kind",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "Kind is the type of resource being referenced"
   },
   {
    "j": "name",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "Name is the name of resource being referenced"
   },
   {
    "j": "namespace",
    "t": "*string",
    "o": 1,
    "p": 4,
    "d": "Namespace is the namespace of resource being referenced Note that when a namespace is specified, a gateway.networking.k8s.io/ReferenceGrant object is required in the referent namespace to allow that namespace's owner to accept the reference. See the ReferenceGrant documentation for details. (Alpha) This field requires the CrossNamespaceVolumeDataSource feature gate to be enabled."
   }
  ]
 },
 "io.k8s.api.core.v1.URIScheme": {
  "go": "v1.URIScheme",
  "u": "string"
 },
 "io.k8s.api.core.v1.UniqueVolumeName": {
  "go": "v1.UniqueVolumeName",
  "u": "string"
 },
 "io.k8s.api.core.v1.UnsatisfiableConstraintAction": {
  "go": "v1.UnsatisfiableConstraintAction",
  "u": "string"
 },
 "io.k8s.api.core.v1.Volume": {
  "go": "v1.Volume",
  "d": "Volume represents a named volume in a pod that may be accessed by any container in the pod.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name of the volume. Must be a DNS_LABEL and unique within the pod. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names"
   },
   {
    "j": "",
    "t": "@io.k8s.api.core.v1.VolumeSource",
    "p": 2,
    "req": 1,
    "d": "volumeSource represents the location and type of the mounted volume. If not specified, the Volume is implied to be an EmptyDir. This implied behavior is deprecated and will be removed in a future version."
   }
  ]
 },
 "io.k8s.api.core.v1.VolumeDevice": {
  "go": "v1.VolumeDevice",
  "d": "volumeDevice describes a mapping of a raw block device within a container.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name must match the name of a persistentVolumeClaim in the pod"
   },
   {
    "j": "devicePath",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "devicePath is the path inside of the container that the device will be mapped to."
   }
  ]
 },
 "io.k8s.api.core.v1.VolumeHealthCondition": {
  "go": "v1.VolumeHealthCondition",
  "d": "VolumeHealthCondition represents an adverse health condition reported for a volume.",
  "f": [
   {
    "j": "status",
    "t": "@io.k8s.api.core.v1.VolumeHealthStatusType",
    "p": 1,
    "req": 1,
    "d": "status is the machine-parseable health category. Possible values: - \"Inaccessible\": the volume cannot be accessed. - \"DataLoss\": data loss has been detected on the volume. - \"Degraded\": the volume is functioning with reduced capability."
   },
   {
    "j": "reason",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "reason is a brief CamelCase machine-parseable reason. Together with status it forms the unique identity of a condition entry. Maximum permitted length of a reason is 256 bytes."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "message is a human-readable description. Maximum permitted length of a message is 1024 bytes."
   }
  ]
 },
 "io.k8s.api.core.v1.VolumeHealthStatus": {
  "go": "v1.VolumeHealthStatus",
  "d": "VolumeHealthStatus contains health information for a volume reported by the CSI controller plugin.",
  "f": [
   {
    "j": "healthConditions",
    "t": "[]@io.k8s.api.core.v1.VolumeHealthCondition",
    "o": 1,
    "p": 1,
    "ps": "merge",
    "pk": "status",
    "lt": "map",
    "lk": [
     "status",
     "reason"
    ],
    "d": "conditions is the set of adverse conditions reported by the CSI controller plugin. An empty list means no adverse condition. At most 16 conditions may be reported."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 2,
    "d": "lastTransitionTime is when the current set of conditions first appeared."
   }
  ]
 },
 "io.k8s.api.core.v1.VolumeHealthStatusType": {
  "go": "v1.VolumeHealthStatusType",
  "u": "string"
 },
 "io.k8s.api.core.v1.VolumeMount": {
  "go": "v1.VolumeMount",
  "d": "VolumeMount describes a mounting of a Volume within a container.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "This must match the Name of a Volume."
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 2,
    "d": "Mounted read-only if true, read-write otherwise (false or unspecified). Defaults to false."
   },
   {
    "j": "recursiveReadOnly",
    "t": "*@io.k8s.api.core.v1.RecursiveReadOnlyMode",
    "o": 1,
    "p": 7,
    "d": "RecursiveReadOnly specifies whether read-only mounts should be handled recursively.\n\nIf ReadOnly is false, this field has no meaning and must be unspecified.\n\nIf ReadOnly is true, and this field is set to Disabled, the mount is not made recursively read-only.  If this field is set to IfPossible, the mount is made recursively read-only, if it is supported by the container runtime.  If this field is set to Enabled, the mount is made recursively read-only if it is supported by the container runtime, otherwise the pod will not be started and an error will be generated to indicate the reason.\n\nIf this field is set to IfPossible or Enabled, MountPropagation must be set to None (or be unspecified, which defaults to None).\n\nIf this field is not specified, it is treated as an equivalent of Disabled."
   },
   {
    "j": "mountPath",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "Path within the container at which the volume should be mounted."
   },
   {
    "j": "subPath",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "Path within the volume from which the container's volume should be mounted. Defaults to \"\" (volume's root)."
   },
   {
    "j": "mountPropagation",
    "t": "*@io.k8s.api.core.v1.MountPropagationMode",
    "o": 1,
    "p": 5,
    "d": "mountPropagation determines how mounts are propagated from the host to container and the other way around. When not set, MountPropagationNone is used. This field is beta in 1.10. When RecursiveReadOnly is set to IfPossible or to Enabled, MountPropagation must be None or unspecified (which defaults to None)."
   },
   {
    "j": "subPathExpr",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "Expanded path within the volume from which the container's volume should be mounted. Behaves similarly to SubPath but environment variable references $(VAR_NAME) are expanded using the container's environment. Defaults to \"\" (volume's root). SubPathExpr and SubPath are mutually exclusive."
   },
   {
    "j": "bindMountOptions",
    "t": "[]string",
    "o": 1,
    "p": 8,
    "lt": "set",
    "d": "bindMountOptions is the list of additional bind mount options to apply when mounting this volume into the container. Allowed values are noexec, nodev, and nosuid. These are Linux mount options and have no effect on Windows nodes. This field is not supported with image volumes. This is an alpha field and requires enabling the VolumeBindMountOptions feature gate."
   }
  ]
 },
 "io.k8s.api.core.v1.VolumeMountStatus": {
  "go": "v1.VolumeMountStatus",
  "d": "VolumeMountStatus shows status of volume mounts.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Name corresponds to the name of the original VolumeMount."
   },
   {
    "j": "mountPath",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "MountPath corresponds to the original VolumeMount."
   },
   {
    "j": "readOnly",
    "t": "bool",
    "o": 1,
    "p": 3,
    "d": "ReadOnly corresponds to the original VolumeMount."
   },
   {
    "j": "recursiveReadOnly",
    "t": "*@io.k8s.api.core.v1.RecursiveReadOnlyMode",
    "o": 1,
    "p": 4,
    "d": "RecursiveReadOnly must be set to Disabled, Enabled, or unspecified (for non-readonly mounts). An IfPossible value in the original VolumeMount must be translated to Disabled or Enabled, depending on the mount result."
   },
   {
    "j": "volumeStatus",
    "t": "*@io.k8s.api.core.v1.VolumeStatus",
    "o": 1,
    "p": 5,
    "d": "volumeStatus represents volume-type-specific status about the mounted volume."
   }
  ]
 },
 "io.k8s.api.core.v1.VolumeNodeAffinity": {
  "go": "v1.VolumeNodeAffinity",
  "d": "VolumeNodeAffinity defines constraints that limit what nodes this volume can be accessed from.",
  "f": [
   {
    "j": "required",
    "t": "*@io.k8s.api.core.v1.NodeSelector",
    "o": 1,
    "p": 1,
    "d": "required specifies hard node constraints that must be met."
   }
  ]
 },
 "io.k8s.api.core.v1.VolumeProjection": {
  "go": "v1.VolumeProjection",
  "d": "Projection that may be projected along with other supported volume types. Exactly one of these fields must be set.",
  "f": [
   {
    "j": "secret",
    "t": "*@io.k8s.api.core.v1.SecretProjection",
    "o": 1,
    "p": 1,
    "d": "secret information about the secret data to project"
   },
   {
    "j": "downwardAPI",
    "t": "*@io.k8s.api.core.v1.DownwardAPIProjection",
    "o": 1,
    "p": 2,
    "d": "downwardAPI information about the downwardAPI data to project"
   },
   {
    "j": "configMap",
    "t": "*@io.k8s.api.core.v1.ConfigMapProjection",
    "o": 1,
    "p": 3,
    "d": "configMap information about the configMap data to project"
   },
   {
    "j": "serviceAccountToken",
    "t": "*@io.k8s.api.core.v1.ServiceAccountTokenProjection",
    "o": 1,
    "p": 4,
    "d": "serviceAccountToken is information about the serviceAccountToken data to project"
   },
   {
    "j": "clusterTrustBundle",
    "t": "*@io.k8s.api.core.v1.ClusterTrustBundleProjection",
    "o": 1,
    "p": 5,
    "d": "ClusterTrustBundle allows a pod to access the `.spec.trustBundle` field of ClusterTrustBundle objects in an auto-updating file.\n\nAlpha, gated by the ClusterTrustBundleProjection feature gate.\n\nClusterTrustBundle objects can either be selected by name, or by the combination of signer name and a label selector.\n\nKubelet performs aggressive normalization of the PEM contents written into the pod filesystem.  Esoteric PEM features such as inter-block comments and block headers are stripped.  Certificates are deduplicated. The ordering of certificates within the file is arbitrary, and Kubelet may change the order over time."
   },
   {
    "j": "podCertificate",
    "t": "*@io.k8s.api.core.v1.PodCertificateProjection",
    "o": 1,
    "p": 6,
    "d": "Projects an auto-rotating credential bundle (private key and certificate chain) that the pod can use either as a TLS client or server.\n\nKubelet generates a private key and uses it to send a PodCertificateRequest to the named signer.  Once the signer approves the request and issues a certificate chain, Kubelet writes the key and certificate chain to the pod filesystem.  The pod does not start until certificates have been issued for each podCertificate projected volume source in its spec.\n\nKubelet will begin trying to rotate the certificate at the time indicated by the signer using the PodCertificateRequest.Status.BeginRefreshAt timestamp.\n\nKubelet can write a single file, indicated by the credentialBundlePath field, or separate files, indicated by the keyPath and certificateChainPath fields.\n\nThe credential bundle is a single file in PEM format.  The first PEM entry is the private key (in PKCS#8 format), and the remaining PEM entries are the certificate chain issued by the signer (typically, signers will return their certificate chain in leaf-to-root order).\n\nPrefer using the credential bundle format, since your application code can read it atomically.  If you use keyPath and certificateChainPath, your application must make two separate file reads. If these coincide with a certificate rotation, it is possible that the private key and leaf certificate you read may not correspond to each other.  Your application will need to check for this condition, and re-read until they are consistent.\n\nThe named signer controls chooses the format of the certificate it issues; consult the signer implementation's documentation to learn how to use the certificates it issues."
   }
  ]
 },
 "io.k8s.api.core.v1.VolumeResourceRequirements": {
  "go": "v1.VolumeResourceRequirements",
  "d": "VolumeResourceRequirements describes the storage resource requirements for a volume.",
  "f": [
   {
    "j": "limits",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 1,
    "d": "Limits describes the maximum amount of compute resources allowed. More info: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"
   },
   {
    "j": "requests",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 2,
    "d": "Requests describes the minimum amount of compute resources required. If Requests is omitted for a container, it defaults to Limits if that is explicitly specified, otherwise to an implementation-defined value. Requests cannot exceed Limits. More info: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"
   }
  ]
 },
 "io.k8s.api.core.v1.VolumeSource": {
  "go": "v1.VolumeSource",
  "d": "Represents the source of a volume to mount. Only one of its members may be specified.",
  "f": [
   {
    "j": "hostPath",
    "t": "*@io.k8s.api.core.v1.HostPathVolumeSource",
    "o": 1,
    "p": 1,
    "d": "hostPath represents a pre-existing file or directory on the host machine that is directly exposed to the container. This is generally used for system agents or other privileged things that are allowed to see the host machine. Most containers will NOT need this. More info: https://kubernetes.io/docs/concepts/storage/volumes#hostpath"
   },
   {
    "j": "emptyDir",
    "t": "*@io.k8s.api.core.v1.EmptyDirVolumeSource",
    "o": 1,
    "p": 2,
    "d": "emptyDir represents a temporary directory that shares a pod's lifetime. More info: https://kubernetes.io/docs/concepts/storage/volumes#emptydir"
   },
   {
    "j": "gcePersistentDisk",
    "t": "*@io.k8s.api.core.v1.GCEPersistentDiskVolumeSource",
    "o": 1,
    "p": 3,
    "d": "gcePersistentDisk represents a GCE Disk resource that is attached to a kubelet's host machine and then exposed to the pod. Deprecated: GCEPersistentDisk is deprecated. All operations for the in-tree gcePersistentDisk type are redirected to the pd.csi.storage.gke.io CSI driver. More info: https://kubernetes.io/docs/concepts/storage/volumes#gcepersistentdisk"
   },
   {
    "j": "awsElasticBlockStore",
    "t": "*@io.k8s.api.core.v1.AWSElasticBlockStoreVolumeSource",
    "o": 1,
    "p": 4,
    "d": "awsElasticBlockStore represents an AWS Disk resource that is attached to a kubelet's host machine and then exposed to the pod. Deprecated: AWSElasticBlockStore is deprecated. All operations for the in-tree awsElasticBlockStore type are redirected to the ebs.csi.aws.com CSI driver. More info: https://kubernetes.io/docs/concepts/storage/volumes#awselasticblockstore"
   },
   {
    "j": "gitRepo",
    "t": "*@io.k8s.api.core.v1.GitRepoVolumeSource",
    "o": 1,
    "p": 5,
    "d": "gitRepo represents a git repository at a particular revision. Deprecated: GitRepo is deprecated. To provision a container with a git repo, mount an EmptyDir into an InitContainer that clones the repo using git, then mount the EmptyDir into the Pod's container."
   },
   {
    "j": "secret",
    "t": "*@io.k8s.api.core.v1.SecretVolumeSource",
    "o": 1,
    "p": 6,
    "d": "secret represents a secret that should populate this volume. More info: https://kubernetes.io/docs/concepts/storage/volumes#secret"
   },
   {
    "j": "nfs",
    "t": "*@io.k8s.api.core.v1.NFSVolumeSource",
    "o": 1,
    "p": 7,
    "d": "nfs represents an NFS mount on the host that shares a pod's lifetime More info: https://kubernetes.io/docs/concepts/storage/volumes#nfs"
   },
   {
    "j": "iscsi",
    "t": "*@io.k8s.api.core.v1.ISCSIVolumeSource",
    "o": 1,
    "p": 8,
    "d": "iscsi represents an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod. More info: https://kubernetes.io/docs/concepts/storage/volumes/#iscsi"
   },
   {
    "j": "glusterfs",
    "t": "*@io.k8s.api.core.v1.GlusterfsVolumeSource",
    "o": 1,
    "p": 9,
    "d": "glusterfs represents a Glusterfs mount on the host that shares a pod's lifetime. Deprecated: Glusterfs is deprecated and the in-tree glusterfs type is no longer supported."
   },
   {
    "j": "persistentVolumeClaim",
    "t": "*@io.k8s.api.core.v1.PersistentVolumeClaimVolumeSource",
    "o": 1,
    "p": 10,
    "d": "persistentVolumeClaimVolumeSource represents a reference to a PersistentVolumeClaim in the same namespace. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#persistentvolumeclaims"
   },
   {
    "j": "rbd",
    "t": "*@io.k8s.api.core.v1.RBDVolumeSource",
    "o": 1,
    "p": 11,
    "d": "rbd represents a Rados Block Device mount on the host that shares a pod's lifetime. Deprecated: RBD is deprecated and the in-tree rbd type is no longer supported."
   },
   {
    "j": "flexVolume",
    "t": "*@io.k8s.api.core.v1.FlexVolumeSource",
    "o": 1,
    "p": 12,
    "d": "flexVolume represents a generic volume resource that is provisioned/attached using an exec based plugin. Deprecated: FlexVolume is deprecated. Consider using a CSIDriver instead."
   },
   {
    "j": "cinder",
    "t": "*@io.k8s.api.core.v1.CinderVolumeSource",
    "o": 1,
    "p": 13,
    "d": "cinder represents a cinder volume attached and mounted on kubelets host machine. Deprecated: Cinder is deprecated. All operations for the in-tree cinder type are redirected to the cinder.csi.openstack.org CSI driver. More info: https://examples.k8s.io/mysql-cinder-pd/README.md"
   },
   {
    "j": "cephfs",
    "t": "*@io.k8s.api.core.v1.CephFSVolumeSource",
    "o": 1,
    "p": 14,
    "d": "cephFS represents a Ceph FS mount on the host that shares a pod's lifetime. Deprecated: CephFS is deprecated and the in-tree cephfs type is no longer supported."
   },
   {
    "j": "flocker",
    "t": "*@io.k8s.api.core.v1.FlockerVolumeSource",
    "o": 1,
    "p": 15,
    "d": "flocker represents a Flocker volume attached to a kubelet's host machine. This depends on the Flocker control service being running. Deprecated: Flocker is deprecated and the in-tree flocker type is no longer supported."
   },
   {
    "j": "downwardAPI",
    "t": "*@io.k8s.api.core.v1.DownwardAPIVolumeSource",
    "o": 1,
    "p": 16,
    "d": "downwardAPI represents downward API about the pod that should populate this volume"
   },
   {
    "j": "fc",
    "t": "*@io.k8s.api.core.v1.FCVolumeSource",
    "o": 1,
    "p": 17,
    "d": "fc represents a Fibre Channel resource that is attached to a kubelet's host machine and then exposed to the pod."
   },
   {
    "j": "azureFile",
    "t": "*@io.k8s.api.core.v1.AzureFileVolumeSource",
    "o": 1,
    "p": 18,
    "d": "azureFile represents an Azure File Service mount on the host and bind mount to the pod. Deprecated: AzureFile is deprecated. All operations for the in-tree azureFile type are redirected to the file.csi.azure.com CSI driver."
   },
   {
    "j": "configMap",
    "t": "*@io.k8s.api.core.v1.ConfigMapVolumeSource",
    "o": 1,
    "p": 19,
    "d": "configMap represents a configMap that should populate this volume"
   },
   {
    "j": "vsphereVolume",
    "t": "*@io.k8s.api.core.v1.VsphereVirtualDiskVolumeSource",
    "o": 1,
    "p": 20,
    "d": "vsphereVolume represents a vSphere volume attached and mounted on kubelets host machine. Deprecated: VsphereVolume is deprecated. All operations for the in-tree vsphereVolume type are redirected to the csi.vsphere.vmware.com CSI driver."
   },
   {
    "j": "quobyte",
    "t": "*@io.k8s.api.core.v1.QuobyteVolumeSource",
    "o": 1,
    "p": 21,
    "d": "quobyte represents a Quobyte mount on the host that shares a pod's lifetime. Deprecated: Quobyte is deprecated and the in-tree quobyte type is no longer supported."
   },
   {
    "j": "azureDisk",
    "t": "*@io.k8s.api.core.v1.AzureDiskVolumeSource",
    "o": 1,
    "p": 22,
    "d": "azureDisk represents an Azure Data Disk mount on the host and bind mount to the pod. Deprecated: AzureDisk is deprecated. All operations for the in-tree azureDisk type are redirected to the disk.csi.azure.com CSI driver."
   },
   {
    "j": "photonPersistentDisk",
    "t": "*@io.k8s.api.core.v1.PhotonPersistentDiskVolumeSource",
    "o": 1,
    "p": 23,
    "d": "photonPersistentDisk represents a PhotonController persistent disk attached and mounted on kubelets host machine. Deprecated: PhotonPersistentDisk is deprecated and the in-tree photonPersistentDisk type is no longer supported."
   },
   {
    "j": "projected",
    "t": "*@io.k8s.api.core.v1.ProjectedVolumeSource",
    "o": 1,
    "p": 26,
    "d": "projected items for all in one resources secrets, configmaps, and downward API"
   },
   {
    "j": "portworxVolume",
    "t": "*@io.k8s.api.core.v1.PortworxVolumeSource",
    "o": 1,
    "p": 24,
    "d": "portworxVolume represents a portworx volume attached and mounted on kubelets host machine. Deprecated: PortworxVolume is deprecated. All operations for the in-tree portworxVolume type are redirected to the pxd.portworx.com CSI driver."
   },
   {
    "j": "scaleIO",
    "t": "*@io.k8s.api.core.v1.ScaleIOVolumeSource",
    "o": 1,
    "p": 25,
    "d": "scaleIO represents a ScaleIO persistent volume attached and mounted on Kubernetes nodes. Deprecated: ScaleIO is deprecated and the in-tree scaleIO type is no longer supported."
   },
   {
    "j": "storageos",
    "t": "*@io.k8s.api.core.v1.StorageOSVolumeSource",
    "o": 1,
    "p": 27,
    "d": "storageOS represents a StorageOS volume attached and mounted on Kubernetes nodes. Deprecated: StorageOS is deprecated and the in-tree storageos type is no longer supported."
   },
   {
    "j": "csi",
    "t": "*@io.k8s.api.core.v1.CSIVolumeSource",
    "o": 1,
    "p": 28,
    "d": "csi (Container Storage Interface) represents ephemeral storage that is handled by certain external CSI drivers."
   },
   {
    "j": "ephemeral",
    "t": "*@io.k8s.api.core.v1.EphemeralVolumeSource",
    "o": 1,
    "p": 29,
    "d": "ephemeral represents a volume that is handled by a cluster storage driver. The volume's lifecycle is tied to the pod that defines it - it will be created before the pod starts, and deleted when the pod is removed.\n\nUse this if: a) the volume is only needed while the pod runs, b) features of normal volumes like restoring from snapshot or capacity\n   tracking are needed,\nc) the storage driver is specified through a storage class, and d) the storage driver supports dynamic volume provisioning through\n   a PersistentVolumeClaim (see EphemeralVolumeSource for more\n   information on the connection between this volume type\n   and PersistentVolumeClaim).\n\nUse PersistentVolumeClaim or one of the vendor-specific APIs for volumes that persist for longer than the lifecycle of an individual pod.\n\nUse CSI for light-weight local ephemeral volumes if the CSI driver is meant to be used that way - see the documentation of the driver for more information.\n\nA pod can use both types of ephemeral volumes and persistent volumes at the same time."
   },
   {
    "j": "image",
    "t": "*@io.k8s.api.core.v1.ImageVolumeSource",
    "o": 1,
    "p": 30,
    "d": "image represents an OCI object (a container image or artifact) pulled and mounted on the kubelet's host machine. The volume is resolved at pod startup depending on which PullPolicy value is provided:\n\n- Always: the kubelet always attempts to pull the reference. Container creation will fail If the pull fails. - Never: the kubelet never pulls the reference and only uses a local image or artifact. Container creation will fail if the reference isn't present. - IfNotPresent: the kubelet pulls if the reference isn't already present on disk. Container creation will fail if the reference isn't present and the pull fails.\n\nThe volume gets re-resolved if the pod gets deleted and recreated, which means that new remote content will become available on pod recreation. A failure to resolve or pull the image during pod startup will block containers from starting and may add significant latency. Failures will be retried using normal volume backoff and will be reported on the pod reason and message. The types of objects that may be mounted by this volume are defined by the container runtime implementation on a host machine and at minimum must include all valid types supported by the container image field. The OCI object gets mounted in a single directory (spec.containers[*].volumeMounts.mountPath) by merging the manifest layers in the same way as for container images. The volume will be mounted read-only (ro). Sub path mounts for containers are not supported (spec.containers[*].volumeMounts.subpath) before 1.33. The field spec.securityContext.fsGroupChangePolicy has no effect on this volume type."
   }
  ]
 },
 "io.k8s.api.core.v1.VolumeStatus": {
  "go": "v1.VolumeStatus",
  "d": "VolumeStatus represents the status of a mounted volume. At most one of its members must be specified.",
  "f": [
   {
    "j": "image",
    "t": "*@io.k8s.api.core.v1.ImageVolumeStatus",
    "o": 1,
    "p": 1,
    "d": "image represents an OCI object (a container image or artifact) pulled and mounted on the kubelet's host machine."
   }
  ]
 },
 "io.k8s.api.core.v1.VsphereVirtualDiskVolumeSource": {
  "go": "v1.VsphereVirtualDiskVolumeSource",
  "d": "Represents a vSphere volume resource.",
  "f": [
   {
    "j": "volumePath",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "volumePath is the path that identifies vSphere volume vmdk"
   },
   {
    "j": "fsType",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "fsType is filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex. \"ext4\", \"xfs\", \"ntfs\". Implicitly inferred to be \"ext4\" if unspecified."
   },
   {
    "j": "storagePolicyName",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "storagePolicyName is the storage Policy Based Management (SPBM) profile name."
   },
   {
    "j": "storagePolicyID",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "storagePolicyID is the storage Policy Based Management (SPBM) profile ID associated with the StoragePolicyName."
   }
  ]
 },
 "io.k8s.api.core.v1.WeightedPodAffinityTerm": {
  "go": "v1.WeightedPodAffinityTerm",
  "d": "The weights of all of the matched WeightedPodAffinityTerm fields are added per-node to find the most preferred node(s)",
  "f": [
   {
    "j": "weight",
    "t": "int32",
    "p": 1,
    "req": 1,
    "d": "weight associated with matching the corresponding podAffinityTerm, in the range 1-100."
   },
   {
    "j": "podAffinityTerm",
    "t": "@io.k8s.api.core.v1.PodAffinityTerm",
    "p": 2,
    "req": 1,
    "d": "Required. A pod affinity term, associated with the corresponding weight."
   }
  ]
 },
 "io.k8s.api.core.v1.WindowsSecurityContextOptions": {
  "go": "v1.WindowsSecurityContextOptions",
  "d": "WindowsSecurityContextOptions contain Windows-specific options and credentials.",
  "f": [
   {
    "j": "gmsaCredentialSpecName",
    "t": "*string",
    "o": 1,
    "p": 1,
    "d": "GMSACredentialSpecName is the name of the GMSA credential spec to use."
   },
   {
    "j": "gmsaCredentialSpec",
    "t": "*string",
    "o": 1,
    "p": 2,
    "d": "GMSACredentialSpec is where the GMSA admission webhook (https://github.com/kubernetes-sigs/windows-gmsa) inlines the contents of the GMSA credential spec named by the GMSACredentialSpecName field."
   },
   {
    "j": "runAsUserName",
    "t": "*string",
    "o": 1,
    "p": 3,
    "d": "The UserName in Windows to run the entrypoint of the container process. Defaults to the user specified in image metadata if unspecified. May also be set in PodSecurityContext. If set in both SecurityContext and PodSecurityContext, the value specified in SecurityContext takes precedence."
   },
   {
    "j": "hostProcess",
    "t": "*bool",
    "o": 1,
    "p": 4,
    "d": "HostProcess determines if a container should be run as a 'Host Process' container. All of a Pod's containers must have the same effective HostProcess value (it is not allowed to have a mix of HostProcess containers and non-HostProcess containers). In addition, if HostProcess is true then HostNetwork must also be set to true."
   }
  ]
 },
 "io.k8s.api.discovery.v1.AddressType": {
  "go": "v1.AddressType",
  "u": "string"
 },
 "io.k8s.api.discovery.v1.Endpoint": {
  "go": "v1.Endpoint",
  "d": "Endpoint represents a single logical \"backend\" implementing a service.",
  "f": [
   {
    "j": "addresses",
    "t": "[]string",
    "p": 1,
    "lt": "set",
    "req": 1,
    "d": "addresses of this endpoint. For EndpointSlices of addressType \"IPv4\" or \"IPv6\", the values are IP addresses in canonical form. The syntax and semantics of other addressType values are not defined. This must contain at least one address but no more than 100. EndpointSlices generated by the EndpointSlice controller will always have exactly 1 address. No semantics are defined for additional addresses beyond the first, and kube-proxy does not look at them."
   },
   {
    "j": "conditions",
    "t": "@io.k8s.api.discovery.v1.EndpointConditions",
    "o": 1,
    "p": 2,
    "d": "conditions contains information about the current status of the endpoint."
   },
   {
    "j": "hostname",
    "t": "*string",
    "o": 1,
    "p": 3,
    "d": "hostname of this endpoint. This field may be used by consumers of endpoints to distinguish endpoints from each other (e.g. in DNS names). Multiple endpoints which use the same hostname should be considered fungible (e.g. multiple A values in DNS). Must be lowercase and pass DNS Label (RFC 1123) validation."
   },
   {
    "j": "targetRef",
    "t": "*@io.k8s.api.core.v1.ObjectReference",
    "o": 1,
    "p": 4,
    "d": "targetRef is a reference to a Kubernetes object that represents this endpoint."
   },
   {
    "j": "deprecatedTopology",
    "t": "map[string]string",
    "o": 1,
    "p": 5,
    "d": "deprecatedTopology contains topology information part of the v1beta1 API. This field is deprecated, and will be removed when the v1beta1 API is removed (no sooner than kubernetes v1.24).  While this field can hold values, it is not writable through the v1 API, and any attempts to write to it will be silently ignored. Topology information can be found in the zone and nodeName fields instead."
   },
   {
    "j": "nodeName",
    "t": "*string",
    "o": 1,
    "p": 6,
    "d": "nodeName represents the name of the Node hosting this endpoint. This can be used to determine endpoints local to a Node."
   },
   {
    "j": "zone",
    "t": "*string",
    "o": 1,
    "p": 7,
    "d": "zone is the name of the Zone this endpoint exists in."
   },
   {
    "j": "hints",
    "t": "*@io.k8s.api.discovery.v1.EndpointHints",
    "o": 1,
    "p": 8,
    "d": "hints contains information associated with how an endpoint should be consumed."
   }
  ]
 },
 "io.k8s.api.discovery.v1.EndpointConditions": {
  "go": "v1.EndpointConditions",
  "d": "EndpointConditions represents the current condition of an endpoint.",
  "f": [
   {
    "j": "ready",
    "t": "*bool",
    "o": 1,
    "p": 1,
    "d": "ready indicates that this endpoint is ready to receive traffic, according to whatever system is managing the endpoint. A nil value should be interpreted as \"true\". In general, an endpoint should be marked ready if it is serving and not terminating, though this can be overridden in some cases, such as when the associated Service has set the publishNotReadyAddresses flag."
   },
   {
    "j": "serving",
    "t": "*bool",
    "o": 1,
    "p": 2,
    "d": "serving indicates that this endpoint is able to receive traffic, according to whatever system is managing the endpoint. For endpoints backed by pods, the EndpointSlice controller will mark the endpoint as serving if the pod's Ready condition is True. A nil value should be interpreted as \"true\"."
   },
   {
    "j": "terminating",
    "t": "*bool",
    "o": 1,
    "p": 3,
    "d": "terminating indicates that this endpoint is terminating. A nil value should be interpreted as \"false\"."
   }
  ]
 },
 "io.k8s.api.discovery.v1.EndpointHints": {
  "go": "v1.EndpointHints",
  "d": "EndpointHints provides hints describing how an endpoint should be consumed.",
  "f": [
   {
    "j": "forZones",
    "t": "[]@io.k8s.api.discovery.v1.ForZone",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "forZones indicates the zone(s) this endpoint should be consumed by when using topology aware routing. May contain a maximum of 8 entries."
   },
   {
    "j": "forNodes",
    "t": "[]@io.k8s.api.discovery.v1.ForNode",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "forNodes indicates the node(s) this endpoint should be consumed by when using topology aware routing. May contain a maximum of 8 entries."
   }
  ]
 },
 "io.k8s.api.discovery.v1.EndpointPort": {
  "go": "v1.EndpointPort",
  "d": "EndpointPort represents a Port used by an EndpointSlice",
  "f": [
   {
    "j": "name",
    "t": "*string",
    "o": 1,
    "p": 1,
    "d": "name represents the name of this port. All ports in an EndpointSlice must have a unique name. If the EndpointSlice is derived from a Kubernetes service, this corresponds to the Service.ports[].name. Name must either be an empty string or pass DNS_LABEL validation: * must be no more than 63 characters long. * must consist of lower case alphanumeric characters or '-'. * must start and end with an alphanumeric character. Default is empty string."
   },
   {
    "j": "protocol",
    "t": "*@io.k8s.api.core.v1.Protocol",
    "o": 1,
    "p": 2,
    "d": "protocol represents the IP protocol for this port. Must be UDP, TCP, or SCTP. Default is TCP."
   },
   {
    "j": "port",
    "t": "*int32",
    "o": 1,
    "p": 3,
    "d": "port represents the port number of the endpoint. If the EndpointSlice is derived from a Kubernetes service, this must be set to the service's target port. EndpointSlices used for other purposes may have a nil port."
   },
   {
    "j": "appProtocol",
    "t": "*string",
    "o": 1,
    "p": 4,
    "d": "The application protocol for this port. This is used as a hint for implementations to offer richer behavior for protocols that they understand. This field follows standard Kubernetes label syntax. Valid values are either:\n\n* Un-prefixed protocol names - reserved for IANA standard service names (as per RFC-6335 and https://www.iana.org/assignments/service-names).\n\n* Kubernetes-defined prefixed names:\n  * 'kubernetes.io/h2c' - HTTP/2 prior knowledge over cleartext as described in https://www.rfc-editor.org/rfc/rfc9113.html#name-starting-http-2-with-prior-\n  * 'kubernetes.io/ws'  - WebSocket over cleartext as described in https://www.rfc-editor.org/rfc/rfc6455\n  * 'kubernetes.io/wss' - WebSocket over TLS as described in https://www.rfc-editor.org/rfc/rfc6455\n\n* Other protocols should use implementation-defined prefixed names such as mycompany.com/my-custom-protocol."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.discovery.v1.EndpointSlice": {
  "go": "v1.EndpointSlice",
  "d": "EndpointSlice represents a set of service endpoints. Most EndpointSlices are created by the EndpointSlice controller to represent the Pods selected by Service objects. For a given service there may be multiple EndpointSlice objects which must be joined to produce the full set of endpoints; you can find all of the slices for a given service by listing EndpointSlices in the service's namespace whose `kubernetes.io/service-name` label contains the service's name.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata."
   },
   {
    "j": "addressType",
    "t": "@io.k8s.api.discovery.v1.AddressType",
    "p": 4,
    "req": 1,
    "d": "addressType specifies the type of address carried by this EndpointSlice. All addresses in this slice must be the same type. This field is immutable after creation. The following address types are currently supported: * IPv4: Represents an IPv4 Address. * IPv6: Represents an IPv6 Address. * FQDN: Represents a Fully Qualified Domain Name. (Deprecated) The EndpointSlice controller only generates, and kube-proxy only processes, slices of addressType \"IPv4\" and \"IPv6\". No semantics are defined for the \"FQDN\" type."
   },
   {
    "j": "endpoints",
    "t": "[]@io.k8s.api.discovery.v1.Endpoint",
    "p": 2,
    "lt": "atomic",
    "d": "endpoints is a list of unique endpoints in this slice. Each slice may include a maximum of 1000 endpoints."
   },
   {
    "j": "ports",
    "t": "[]@io.k8s.api.discovery.v1.EndpointPort",
    "p": 3,
    "lt": "atomic",
    "d": "ports specifies the list of network ports exposed by each endpoint in this slice. Each port must have a unique name. Each slice may include a maximum of 100 ports. Services always have at least 1 port, so EndpointSlices generated by the EndpointSlice controller will likewise always have at least 1 port. EndpointSlices used for other purposes may have an empty ports list."
   }
  ]
 },
 "io.k8s.api.discovery.v1.EndpointSliceList": {
  "go": "v1.EndpointSliceList",
  "d": "EndpointSliceList represents a list of endpoint slices",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata."
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.discovery.v1.EndpointSlice",
    "p": 2,
    "req": 1,
    "d": "items is the list of endpoint slices"
   }
  ]
 },
 "io.k8s.api.discovery.v1.ForNode": {
  "go": "v1.ForNode",
  "d": "ForNode provides information about which nodes should consume this endpoint.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name represents the name of the node."
   }
  ]
 },
 "io.k8s.api.discovery.v1.ForZone": {
  "go": "v1.ForZone",
  "d": "ForZone provides information about which zones should consume this endpoint.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name represents the name of the zone."
   }
  ]
 },
 "io.k8s.api.events.v1.Event": {
  "go": "v1.Event",
  "d": "Event is a report of an event somewhere in the cluster. It generally denotes some state change in the system. Events have a limited retention time and triggers and messages may evolve with time.  Event consumers should not rely on the timing of an event with a given Reason reflecting a consistent underlying trigger, or the continued existence of events with that Reason.  Events should be treated as informative, best-effort, supplemental data.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "p": 1,
    "d": "metadata is the standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "eventTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
    "p": 2,
    "req": 1,
    "d": "eventTime is the time when this Event was first observed. It is required."
   },
   {
    "j": "series",
    "t": "*@io.k8s.api.events.v1.EventSeries",
    "o": 1,
    "p": 3,
    "d": "series is data about the Event series this event represents or nil if it's a singleton Event."
   },
   {
    "j": "reportingController",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "reportingController is the name of the controller that emitted this Event, e.g. `kubernetes.io/kubelet`. This field cannot be empty for new Events."
   },
   {
    "j": "reportingInstance",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "reportingInstance is the ID of the controller instance, e.g. `kubelet-xyzf`. This field cannot be empty for new Events and it can have at most 128 characters."
   },
   {
    "j": "action",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "action is what action was taken/failed regarding to the regarding object. It is machine-readable. This field cannot be empty for new Events and it can have at most 128 characters."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 7,
    "d": "reason is why the action was taken. It is human-readable. This field cannot be empty for new Events and it can have at most 128 characters."
   },
   {
    "j": "regarding",
    "t": "@io.k8s.api.core.v1.ObjectReference",
    "o": 1,
    "p": 8,
    "d": "regarding contains the object this Event is about. In most cases it's an Object reporting controller implements, e.g. ReplicaSetController implements ReplicaSets and this event is emitted because it acts on some changes in a ReplicaSet object."
   },
   {
    "j": "related",
    "t": "*@io.k8s.api.core.v1.ObjectReference",
    "o": 1,
    "p": 9,
    "d": "related is the optional secondary object for more complex actions. E.g. when regarding object triggers a creation or deletion of related object."
   },
   {
    "j": "note",
    "t": "string",
    "o": 1,
    "p": 10,
    "d": "note is a human-readable description of the status of this operation. Maximal length of the note is 1kB, but libraries should be prepared to handle values up to 64kB."
   },
   {
    "j": "type",
    "t": "string",
    "o": 1,
    "p": 11,
    "d": "type is the type of this event (Normal, Warning), new types could be added in the future. It is machine-readable. This field cannot be empty for new Events."
   },
   {
    "j": "deprecatedSource",
    "t": "@io.k8s.api.core.v1.EventSource",
    "o": 1,
    "p": 12,
    "d": "deprecatedSource is the deprecated field assuring backward compatibility with core.v1 Event type."
   },
   {
    "j": "deprecatedFirstTimestamp",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 13,
    "d": "deprecatedFirstTimestamp is the deprecated field assuring backward compatibility with core.v1 Event type."
   },
   {
    "j": "deprecatedLastTimestamp",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 14,
    "d": "deprecatedLastTimestamp is the deprecated field assuring backward compatibility with core.v1 Event type."
   },
   {
    "j": "deprecatedCount",
    "t": "int32",
    "o": 1,
    "p": 15,
    "d": "deprecatedCount is the deprecated field assuring backward compatibility with core.v1 Event type."
   }
  ]
 },
 "io.k8s.api.events.v1.EventList": {
  "go": "v1.EventList",
  "d": "EventList is a list of Event objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.events.v1.Event",
    "p": 2,
    "req": 1,
    "d": "items is a list of schema objects."
   }
  ]
 },
 "io.k8s.api.events.v1.EventSeries": {
  "go": "v1.EventSeries",
  "d": "EventSeries contain information on series of events, i.e. thing that was/is happening continuously for some time. How often to update the EventSeries is up to the event reporters. The default event reporter in \"k8s.io/client-go/tools/events/event_broadcaster.go\" shows how this struct is updated on heartbeats and can guide customized reporter implementations.",
  "f": [
   {
    "j": "count",
    "t": "int32",
    "p": 1,
    "req": 1,
    "d": "count is the number of occurrences in this series up to the last heartbeat time."
   },
   {
    "j": "lastObservedTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
    "p": 2,
    "req": 1,
    "d": "lastObservedTime is the time when last Event from the series was seen before last heartbeat."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.ConditionStatus": {
  "go": "v1.ConditionStatus",
  "u": "string"
 },
 "io.k8s.api.flowcontrol.v1.ExemptPriorityLevelConfiguration": {
  "go": "v1.ExemptPriorityLevelConfiguration",
  "d": "ExemptPriorityLevelConfiguration describes the configurable aspects of the handling of exempt requests. In the mandatory exempt configuration object the values in the fields here can be modified by authorized users, unlike the rest of the `spec`.",
  "f": [
   {
    "j": "nominalConcurrencyShares",
    "t": "*int32",
    "o": 1,
    "p": 1,
    "d": "`nominalConcurrencyShares` (NCS) contributes to the computation of the NominalConcurrencyLimit (NominalCL) of this level. This is the number of execution seats nominally reserved for this priority level. This DOES NOT limit the dispatching from this priority level but affects the other priority levels through the borrowing mechanism. The server's concurrency limit (ServerCL) is divided among all the priority levels in proportion to their NCS values:\n\nNominalCL(i)  = ceil( ServerCL * NCS(i) / sum_ncs ) sum_ncs = sum[priority level k] NCS(k)\n\nBigger numbers mean a larger nominal concurrency limit, at the expense of every other priority level. This field has a default value of zero."
   },
   {
    "j": "lendablePercent",
    "t": "*int32",
    "o": 1,
    "p": 2,
    "d": "`lendablePercent` prescribes the fraction of the level's NominalCL that can be borrowed by other priority levels.  This value of this field must be between 0 and 100, inclusive, and it defaults to 0. The number of seats that other levels can borrow from this level, known as this level's LendableConcurrencyLimit (LendableCL), is defined as follows.\n\nLendableCL(i) = round( NominalCL(i) * lendablePercent(i)/100.0 )"
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.FlowDistinguisherMethod": {
  "go": "v1.FlowDistinguisherMethod",
  "d": "FlowDistinguisherMethod specifies the method of a flow distinguisher.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.flowcontrol.v1.FlowDistinguisherMethodType",
    "p": 1,
    "req": 1,
    "d": "`type` is the type of flow distinguisher method The supported types are \"ByUser\" and \"ByNamespace\". Required."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.FlowDistinguisherMethodType": {
  "go": "v1.FlowDistinguisherMethodType",
  "u": "string"
 },
 "io.k8s.api.flowcontrol.v1.FlowSchema": {
  "go": "v1.FlowSchema",
  "d": "FlowSchema defines the schema of a group of flows. Note that a flow is made up of a set of inbound API requests with similar attributes and is identified by a pair of strings: the name of the FlowSchema and a \"flow distinguisher\".",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "`metadata` is the standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.flowcontrol.v1.FlowSchemaSpec",
    "o": 1,
    "p": 2,
    "req": 1,
    "d": "`spec` is the specification of the desired behavior of a FlowSchema. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.flowcontrol.v1.FlowSchemaStatus",
    "o": 1,
    "p": 3,
    "d": "`status` is the current status of a FlowSchema. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.FlowSchemaCondition": {
  "go": "v1.FlowSchemaCondition",
  "d": "FlowSchemaCondition describes conditions for a FlowSchema.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.flowcontrol.v1.FlowSchemaConditionType",
    "o": 1,
    "p": 1,
    "req": 1,
    "d": "`type` is the type of the condition. Required."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.flowcontrol.v1.ConditionStatus",
    "o": 1,
    "p": 2,
    "d": "`status` is the status of the condition. Should be specified and set to one of True, False, Unknown."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 3,
    "d": "`lastTransitionTime` is the last time the condition transitioned from one status to another."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "`reason` is a unique, one-word, CamelCase reason for the condition's last transition."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "`message` is a human-readable message indicating details about last transition."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.FlowSchemaConditionType": {
  "go": "v1.FlowSchemaConditionType",
  "u": "string"
 },
 "io.k8s.api.flowcontrol.v1.FlowSchemaList": {
  "go": "v1.FlowSchemaList",
  "d": "FlowSchemaList is a list of FlowSchema objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "`metadata` is the standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.flowcontrol.v1.FlowSchema",
    "p": 2,
    "req": 1,
    "d": "`items` is a list of FlowSchemas."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.FlowSchemaSpec": {
  "go": "v1.FlowSchemaSpec",
  "d": "FlowSchemaSpec describes how the FlowSchema's specification looks like.",
  "f": [
   {
    "j": "priorityLevelConfiguration",
    "t": "@io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationReference",
    "p": 1,
    "req": 1,
    "d": "`priorityLevelConfiguration` should reference a PriorityLevelConfiguration in the cluster. If the reference cannot be resolved, the FlowSchema will be ignored and marked as invalid in its status. Required."
   },
   {
    "j": "matchingPrecedence",
    "t": "int32",
    "p": 2,
    "d": "`matchingPrecedence` is used to choose among the FlowSchemas that match a given request. The chosen FlowSchema is among those with the numerically lowest (which we take to be logically highest) MatchingPrecedence.  Each MatchingPrecedence value must be ranged in [1,10000]. Note that if the precedence is not specified, it will be set to 1000 as default."
   },
   {
    "j": "distinguisherMethod",
    "t": "*@io.k8s.api.flowcontrol.v1.FlowDistinguisherMethod",
    "o": 1,
    "p": 3,
    "d": "`distinguisherMethod` defines how to compute the flow distinguisher for requests that match this schema. `nil` specifies that the distinguisher is disabled and thus will always be the empty string."
   },
   {
    "j": "rules",
    "t": "[]@io.k8s.api.flowcontrol.v1.PolicyRulesWithSubjects",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "`rules` describes which requests will match this flow schema. This FlowSchema matches a request if and only if at least one member of rules matches the request. if it is an empty slice, there will be no requests matching the FlowSchema."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.FlowSchemaStatus": {
  "go": "v1.FlowSchemaStatus",
  "d": "FlowSchemaStatus represents the current state of a FlowSchema.",
  "f": [
   {
    "j": "conditions",
    "t": "[]@io.k8s.api.flowcontrol.v1.FlowSchemaCondition",
    "o": 1,
    "p": 1,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "`conditions` is a list of the current states of FlowSchema."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.GroupSubject": {
  "go": "v1.GroupSubject",
  "d": "GroupSubject holds detailed information for group-kind subject.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name is the user group that matches, or \"*\" to match all user groups. See https://github.com/kubernetes/apiserver/blob/master/pkg/authentication/user/user.go for some well-known group names. Required."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.LimitResponse": {
  "go": "v1.LimitResponse",
  "d": "LimitResponse defines how to handle requests that can not be executed right now.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.flowcontrol.v1.LimitResponseType",
    "p": 1,
    "req": 1,
    "d": "`type` is \"Queue\" or \"Reject\". \"Queue\" means that requests that can not be executed upon arrival are held in a queue until they can be executed or a queuing limit is reached. \"Reject\" means that requests that can not be executed upon arrival are rejected. Required."
   },
   {
    "j": "queuing",
    "t": "*@io.k8s.api.flowcontrol.v1.QueuingConfiguration",
    "o": 1,
    "p": 2,
    "d": "`queuing` holds the configuration parameters for queuing. This field may be non-empty only if `type` is `\"Queue\"`."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.LimitResponseType": {
  "go": "v1.LimitResponseType",
  "u": "string"
 },
 "io.k8s.api.flowcontrol.v1.LimitedPriorityLevelConfiguration": {
  "go": "v1.LimitedPriorityLevelConfiguration",
  "d": "LimitedPriorityLevelConfiguration specifies how to handle requests that are subject to limits. It addresses two issues:\n  - How are requests for this priority level limited?\n  - What should be done with requests that exceed the limit?",
  "f": [
   {
    "j": "nominalConcurrencyShares",
    "t": "*int32",
    "p": 1,
    "d": "`nominalConcurrencyShares` (NCS) contributes to the computation of the NominalConcurrencyLimit (NominalCL) of this level. This is the number of execution seats available at this priority level. This is used both for requests dispatched from this priority level as well as requests dispatched from other priority levels borrowing seats from this level. The server's concurrency limit (ServerCL) is divided among the Limited priority levels in proportion to their NCS values:\n\nNominalCL(i)  = ceil( ServerCL * NCS(i) / sum_ncs ) sum_ncs = sum[priority level k] NCS(k)\n\nBigger numbers mean a larger nominal concurrency limit, at the expense of every other priority level.\n\nIf not specified, this field defaults to a value of 30.\n\nSetting this field to zero supports the construction of a \"jail\" for this priority level that is used to hold some request(s)"
   },
   {
    "j": "limitResponse",
    "t": "@io.k8s.api.flowcontrol.v1.LimitResponse",
    "o": 1,
    "p": 2,
    "req": 1,
    "d": "`limitResponse` indicates what to do with requests that can not be executed right now"
   },
   {
    "j": "lendablePercent",
    "t": "*int32",
    "o": 1,
    "p": 3,
    "d": "`lendablePercent` prescribes the fraction of the level's NominalCL that can be borrowed by other priority levels. The value of this field must be between 0 and 100, inclusive, and it defaults to 0. The number of seats that other levels can borrow from this level, known as this level's LendableConcurrencyLimit (LendableCL), is defined as follows.\n\nLendableCL(i) = round( NominalCL(i) * lendablePercent(i)/100.0 )"
   },
   {
    "j": "borrowingLimitPercent",
    "t": "*int32",
    "o": 1,
    "p": 4,
    "d": "`borrowingLimitPercent`, if present, configures a limit on how many seats this priority level can borrow from other priority levels. The limit is known as this level's BorrowingConcurrencyLimit (BorrowingCL) and is a limit on the total number of seats that this level may borrow at any one time. This field holds the ratio of that limit to the level's nominal concurrency limit. When this field is non-nil, it must hold a non-negative integer and the limit is calculated as follows.\n\nBorrowingCL(i) = round( NominalCL(i) * borrowingLimitPercent(i)/100.0 )\n\nThe value of this field can be more than 100, implying that this priority level can borrow a number of seats that is greater than its own nominal concurrency limit (NominalCL). When this field is left `nil`, the limit is effectively infinite."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.NonResourcePolicyRule": {
  "go": "v1.NonResourcePolicyRule",
  "d": "NonResourcePolicyRule is a predicate that matches non-resource requests according to their verb and the target non-resource URL. A NonResourcePolicyRule matches a request if and only if both (a) at least one member of verbs matches the request and (b) at least one member of nonResourceURLs matches the request.",
  "f": [
   {
    "j": "verbs",
    "t": "[]string",
    "p": 1,
    "lt": "set",
    "req": 1,
    "d": "`verbs` is a list of matching verbs and may not be empty. \"*\" matches all verbs. If it is present, it must be the only entry. Required."
   },
   {
    "j": "nonResourceURLs",
    "t": "[]string",
    "p": 6,
    "lt": "set",
    "req": 1,
    "d": "`nonResourceURLs` is a set of url prefixes that a user should have access to and may not be empty. For example:\n  - \"/healthz\" is legal\n  - \"/hea*\" is illegal\n  - \"/hea\" is legal but matches nothing\n  - \"/hea/*\" also matches nothing\n  - \"/healthz/*\" matches all per-component health checks.\n\"*\" matches all non-resource urls. if it is present, it must be the only entry. Required."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.PolicyRulesWithSubjects": {
  "go": "v1.PolicyRulesWithSubjects",
  "d": "PolicyRulesWithSubjects prescribes a test that applies to a request to an apiserver. The test considers the subject making the request, the verb being requested, and the resource to be acted upon. This PolicyRulesWithSubjects matches a request if and only if both (a) at least one member of subjects matches the request and (b) at least one member of resourceRules or nonResourceRules matches the request.",
  "f": [
   {
    "j": "subjects",
    "t": "[]@io.k8s.api.flowcontrol.v1.Subject",
    "p": 1,
    "lt": "atomic",
    "req": 1,
    "d": "subjects is the list of normal user, serviceaccount, or group that this rule cares about. There must be at least one member in this slice. A slice that includes both the system:authenticated and system:unauthenticated user groups matches every request. Required."
   },
   {
    "j": "resourceRules",
    "t": "[]@io.k8s.api.flowcontrol.v1.ResourcePolicyRule",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "`resourceRules` is a slice of ResourcePolicyRules that identify matching requests according to their verb and the target resource. At least one of `resourceRules` and `nonResourceRules` has to be non-empty."
   },
   {
    "j": "nonResourceRules",
    "t": "[]@io.k8s.api.flowcontrol.v1.NonResourcePolicyRule",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "`nonResourceRules` is a list of NonResourcePolicyRules that identify matching requests according to their verb and the target non-resource URL."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.PriorityLevelConfiguration": {
  "go": "v1.PriorityLevelConfiguration",
  "d": "PriorityLevelConfiguration represents the configuration of a priority level.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "`metadata` is the standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationSpec",
    "o": 1,
    "p": 2,
    "req": 1,
    "d": "`spec` is the specification of the desired behavior of a \"request-priority\". More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationStatus",
    "o": 1,
    "p": 3,
    "d": "`status` is the current status of a \"request-priority\". More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationCondition": {
  "go": "v1.PriorityLevelConfigurationCondition",
  "d": "PriorityLevelConfigurationCondition defines the condition of priority level.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationConditionType",
    "o": 1,
    "p": 1,
    "req": 1,
    "d": "`type` is the type of the condition. Required."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.flowcontrol.v1.ConditionStatus",
    "o": 1,
    "p": 2,
    "d": "`status` is the status of the condition. Should be specified and set to one of True, False, Unknown."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 3,
    "d": "`lastTransitionTime` is the last time the condition transitioned from one status to another."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "`reason` is a unique, one-word, CamelCase reason for the condition's last transition."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "`message` is a human-readable message indicating details about last transition."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationConditionType": {
  "go": "v1.PriorityLevelConfigurationConditionType",
  "u": "string"
 },
 "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationList": {
  "go": "v1.PriorityLevelConfigurationList",
  "d": "PriorityLevelConfigurationList is a list of PriorityLevelConfiguration objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "`metadata` is the standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.flowcontrol.v1.PriorityLevelConfiguration",
    "p": 2,
    "req": 1,
    "d": "`items` is a list of request-priorities."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationReference": {
  "go": "v1.PriorityLevelConfigurationReference",
  "d": "PriorityLevelConfigurationReference contains information that points to the \"request-priority\" being used.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "`name` is the name of the priority level configuration being referenced Required."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationSpec": {
  "go": "v1.PriorityLevelConfigurationSpec",
  "d": "PriorityLevelConfigurationSpec specifies the configuration of a priority level.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.api.flowcontrol.v1.PriorityLevelEnablement",
    "p": 1,
    "req": 1,
    "d": "`type` indicates whether this priority level is subject to limitation on request execution.  A value of `\"Exempt\"` means that requests of this priority level are not subject to a limit (and thus are never queued) and do not detract from the capacity made available to other priority levels.  A value of `\"Limited\"` means that (a) requests of this priority level _are_ subject to limits and (b) some of the server's limited capacity is made available exclusively to this priority level. Required."
   },
   {
    "j": "limited",
    "t": "*@io.k8s.api.flowcontrol.v1.LimitedPriorityLevelConfiguration",
    "o": 1,
    "p": 2,
    "d": "`limited` specifies how requests are handled for a Limited priority level. This field must be non-empty if and only if `type` is `\"Limited\"`."
   },
   {
    "j": "exempt",
    "t": "*@io.k8s.api.flowcontrol.v1.ExemptPriorityLevelConfiguration",
    "o": 1,
    "p": 3,
    "d": "`exempt` specifies how requests are handled for an exempt priority level. This field MUST be empty if `type` is `\"Limited\"`. This field MAY be non-empty if `type` is `\"Exempt\"`. If empty and `type` is `\"Exempt\"` then the default values for `ExemptPriorityLevelConfiguration` apply."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationStatus": {
  "go": "v1.PriorityLevelConfigurationStatus",
  "d": "PriorityLevelConfigurationStatus represents the current state of a \"request-priority\".",
  "f": [
   {
    "j": "conditions",
    "t": "[]@io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationCondition",
    "o": 1,
    "p": 1,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "`conditions` is the current state of \"request-priority\"."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.PriorityLevelEnablement": {
  "go": "v1.PriorityLevelEnablement",
  "u": "string"
 },
 "io.k8s.api.flowcontrol.v1.QueuingConfiguration": {
  "go": "v1.QueuingConfiguration",
  "d": "QueuingConfiguration holds the configuration parameters for queuing",
  "f": [
   {
    "j": "queues",
    "t": "int32",
    "p": 1,
    "d": "`queues` is the number of queues for this priority level. The queues exist independently at each apiserver. The value must be positive.  Setting it to 1 effectively precludes shufflesharding and thus makes the distinguisher method of associated flow schemas irrelevant.  This field has a default value of 64."
   },
   {
    "j": "handSize",
    "t": "int32",
    "p": 2,
    "d": "`handSize` is a small positive number that configures the shuffle sharding of requests into queues.  When enqueuing a request at this priority level the request's flow identifier (a string pair) is hashed and the hash value is used to shuffle the list of queues and deal a hand of the size specified here.  The request is put into one of the shortest queues in that hand. `handSize` must be no larger than `queues`, and should be significantly smaller (so that a few heavy flows do not saturate most of the queues).  See the user-facing documentation for more extensive guidance on setting this field.  This field has a default value of 8."
   },
   {
    "j": "queueLengthLimit",
    "t": "int32",
    "p": 3,
    "d": "`queueLengthLimit` is the maximum number of requests allowed to be waiting in a given queue of this priority level at a time; excess requests are rejected.  This value must be positive.  If not specified, it will be defaulted to 50."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.ResourcePolicyRule": {
  "go": "v1.ResourcePolicyRule",
  "d": "ResourcePolicyRule is a predicate that matches some resource requests, testing the request's verb and the target resource. A ResourcePolicyRule matches a resource request if and only if: (a) at least one member of verbs matches the request, (b) at least one member of apiGroups matches the request, (c) at least one member of resources matches the request, and (d) either (d1) the request does not specify a namespace (i.e., `Namespace==\"\"`) and clusterScope is true or (d2) the request specifies a namespace and least one member of namespaces matches the request's namespace.",
  "f": [
   {
    "j": "verbs",
    "t": "[]string",
    "p": 1,
    "lt": "set",
    "req": 1,
    "d": "`verbs` is a list of matching verbs and may not be empty. \"*\" matches all verbs and, if present, must be the only entry. Required."
   },
   {
    "j": "apiGroups",
    "t": "[]string",
    "p": 2,
    "lt": "set",
    "req": 1,
    "d": "`apiGroups` is a list of matching API groups and may not be empty. \"*\" matches all API groups and, if present, must be the only entry. Required."
   },
   {
    "j": "resources",
    "t": "[]string",
    "p": 3,
    "lt": "set",
    "req": 1,
    "d": "`resources` is a list of matching resources (i.e., lowercase and plural) with, if desired, subresource.  For example, [ \"services\", \"nodes/status\" ].  This list may not be empty. \"*\" matches all resources and, if present, must be the only entry. Required."
   },
   {
    "j": "clusterScope",
    "t": "bool",
    "o": 1,
    "p": 4,
    "d": "`clusterScope` indicates whether to match requests that do not specify a namespace (which happens either because the resource is not namespaced or the request targets all namespaces). If this field is omitted or false then the `namespaces` field must contain a non-empty list."
   },
   {
    "j": "namespaces",
    "t": "[]string",
    "p": 5,
    "lt": "set",
    "d": "`namespaces` is a list of target namespaces that restricts matches.  A request that specifies a target namespace matches only if either (a) this list contains that target namespace or (b) this list contains \"*\".  Note that \"*\" matches any specified namespace but does not match a request that _does not specify_ a namespace (see the `clusterScope` field for that). This list may be empty, but only if `clusterScope` is true."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.ServiceAccountSubject": {
  "go": "v1.ServiceAccountSubject",
  "d": "ServiceAccountSubject holds detailed information for service-account-kind subject.",
  "f": [
   {
    "j": "namespace",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "`namespace` is the namespace of matching ServiceAccount objects. Required."
   },
   {
    "j": "name",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "`name` is the name of matching ServiceAccount objects, or \"*\" to match regardless of name. Required."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.Subject": {
  "go": "v1.Subject",
  "d": "Subject matches the originator of a request, as identified by the request authentication system. There are three ways of matching an originator; by user, group, or service account.",
  "f": [
   {
    "j": "kind",
    "t": "@io.k8s.api.flowcontrol.v1.SubjectKind",
    "p": 1,
    "req": 1,
    "d": "`kind` indicates which one of the other fields is non-empty. Required"
   },
   {
    "j": "user",
    "t": "*@io.k8s.api.flowcontrol.v1.UserSubject",
    "o": 1,
    "p": 2,
    "d": "`user` matches based on username."
   },
   {
    "j": "group",
    "t": "*@io.k8s.api.flowcontrol.v1.GroupSubject",
    "o": 1,
    "p": 3,
    "d": "`group` matches based on user group name."
   },
   {
    "j": "serviceAccount",
    "t": "*@io.k8s.api.flowcontrol.v1.ServiceAccountSubject",
    "o": 1,
    "p": 4,
    "d": "`serviceAccount` matches ServiceAccounts."
   }
  ]
 },
 "io.k8s.api.flowcontrol.v1.SubjectKind": {
  "go": "v1.SubjectKind",
  "u": "string"
 },
 "io.k8s.api.flowcontrol.v1.UserSubject": {
  "go": "v1.UserSubject",
  "d": "UserSubject holds detailed information for user-kind subject.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "`name` is the username that matches, or \"*\" to match all usernames. Required."
   }
  ]
 },
 "io.k8s.api.networking.v1.HTTPIngressPath": {
  "go": "v1.HTTPIngressPath",
  "d": "HTTPIngressPath associates a path with a backend. Incoming urls matching the path are forwarded to the backend.",
  "f": [
   {
    "j": "path",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "path is matched against the path of an incoming request. Currently it can contain characters disallowed from the conventional \"path\" part of a URL as defined by RFC 3986. Paths must begin with a '/' and must be present when using PathType with value \"Exact\" or \"Prefix\"."
   },
   {
    "j": "pathType",
    "t": "*@io.k8s.api.networking.v1.PathType",
    "p": 3,
    "req": 1,
    "d": "pathType determines the interpretation of the path matching. PathType can be one of the following values: * Exact: Matches the URL path exactly. * Prefix: Matches based on a URL path prefix split by '/'. Matching is\n  done on a path element by element basis. A path element refers is the\n  list of labels in the path split by the '/' separator. A request is a\n  match for path p if every p is an element-wise prefix of p of the\n  request path. Note that if the last element of the path is a substring\n  of the last element in request path, it is not a match (e.g. /foo/bar\n  matches /foo/bar/baz, but does not match /foo/barbaz).\n* ImplementationSpecific: Interpretation of the Path matching is up to\n  the IngressClass. Implementations can treat this as a separate PathType\n  or treat it identically to Prefix or Exact path types.\nImplementations are required to support all path types."
   },
   {
    "j": "backend",
    "t": "@io.k8s.api.networking.v1.IngressBackend",
    "p": 2,
    "req": 1,
    "d": "backend defines the referenced service endpoint to which the traffic will be forwarded to."
   }
  ]
 },
 "io.k8s.api.networking.v1.HTTPIngressRuleValue": {
  "go": "v1.HTTPIngressRuleValue",
  "d": "HTTPIngressRuleValue is a list of http selectors pointing to backends. In the example: http://<host>/<path>?<searchpart> -> backend where where parts of the url correspond to RFC 3986, this resource will be used to match against everything after the last '/' and before the first '?' or '#'.",
  "f": [
   {
    "j": "paths",
    "t": "[]@io.k8s.api.networking.v1.HTTPIngressPath",
    "p": 1,
    "lt": "atomic",
    "req": 1,
    "d": "paths is a collection of paths that map requests to backends."
   }
  ]
 },
 "io.k8s.api.networking.v1.IPAddress": {
  "go": "v1.IPAddress",
  "d": "IPAddress represents a single IP of a single IP Family. The object is designed to be used by APIs that operate on IP addresses. The object is used by the Service core API for allocation of IP addresses. An IP address can be represented in different formats, to guarantee the uniqueness of the IP, the name of the object is the IP address in canonical format, four decimal digits separated by dots suppressing leading zeros for IPv4 and the representation defined by RFC 5952 for IPv6. Valid: 192.168.1.5 or 2001:db8::1 or 2001:db8:aaaa:bbbb:cccc:dddd:eeee:1 Invalid: 10.01.2.3 or 2001:db8:0:0:0::1",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.networking.v1.IPAddressSpec",
    "o": 1,
    "p": 2,
    "req": 1,
    "d": "spec is the desired state of the IPAddress. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.networking.v1.IPAddressList": {
  "go": "v1.IPAddressList",
  "d": "IPAddressList contains a list of IPAddress.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.networking.v1.IPAddress",
    "p": 2,
    "req": 1,
    "d": "items is the list of IPAddresses."
   }
  ]
 },
 "io.k8s.api.networking.v1.IPAddressSpec": {
  "go": "v1.IPAddressSpec",
  "d": "IPAddressSpec describe the attributes in an IP Address.",
  "f": [
   {
    "j": "parentRef",
    "t": "*@io.k8s.api.networking.v1.ParentReference",
    "o": 1,
    "p": 1,
    "req": 1,
    "d": "parentRef references the resource that an IPAddress is attached to. An IPAddress must reference a parent object."
   }
  ]
 },
 "io.k8s.api.networking.v1.IPBlock": {
  "go": "v1.IPBlock",
  "d": "IPBlock describes a particular CIDR (Ex. \"192.168.1.0/24\",\"2001:db8::/64\") that is allowed to the pods matched by a NetworkPolicySpec's podSelector. The except entry describes CIDRs that should not be included within this rule.",
  "f": [
   {
    "j": "cidr",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "cidr is a string representing the IPBlock Valid examples are \"192.168.1.0/24\" or \"2001:db8::/64\""
   },
   {
    "j": "except",
    "t": "[]string",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "except is a slice of CIDRs that should not be included within an IPBlock Valid examples are \"192.168.1.0/24\" or \"2001:db8::/64\" Except values will be rejected if they are outside the cidr range"
   }
  ]
 },
 "io.k8s.api.networking.v1.Ingress": {
  "go": "v1.Ingress",
  "d": "Ingress is a collection of rules that allow inbound connections to reach the endpoints defined by a backend. An Ingress can be configured to give services externally-reachable urls, load balance traffic, terminate SSL, offer name based virtual hosting etc.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.networking.v1.IngressSpec",
    "o": 1,
    "p": 2,
    "d": "spec is the desired state of the Ingress. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.networking.v1.IngressStatus",
    "o": 1,
    "p": 3,
    "d": "status is the current state of the Ingress. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.networking.v1.IngressBackend": {
  "go": "v1.IngressBackend",
  "d": "IngressBackend describes all endpoints for a given service and port.",
  "f": [
   {
    "j": "service",
    "t": "*@io.k8s.api.networking.v1.IngressServiceBackend",
    "o": 1,
    "p": 4,
    "d": "service references a service as a backend. This is a mutually exclusive setting with \"Resource\"."
   },
   {
    "j": "resource",
    "t": "*@io.k8s.api.core.v1.TypedLocalObjectReference",
    "o": 1,
    "p": 3,
    "d": "resource is an ObjectRef to another Kubernetes resource in the namespace of the Ingress object. If resource is specified, a service.Name and service.Port must not be specified. This is a mutually exclusive setting with \"Service\"."
   }
  ]
 },
 "io.k8s.api.networking.v1.IngressClass": {
  "go": "v1.IngressClass",
  "d": "IngressClass represents the class of the Ingress, referenced by the Ingress Spec. The `ingressclass.kubernetes.io/is-default-class` annotation can be used to indicate that an IngressClass should be considered default. When a single IngressClass resource has this annotation set to true, new Ingress resources without a class specified will be assigned this default class.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.networking.v1.IngressClassSpec",
    "o": 1,
    "p": 2,
    "d": "spec is the desired state of the IngressClass. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.networking.v1.IngressClassList": {
  "go": "v1.IngressClassList",
  "d": "IngressClassList is a collection of IngressClasses.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata."
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.networking.v1.IngressClass",
    "p": 2,
    "req": 1,
    "d": "items is the list of IngressClasses."
   }
  ]
 },
 "io.k8s.api.networking.v1.IngressClassParametersReference": {
  "go": "v1.IngressClassParametersReference",
  "d": "IngressClassParametersReference identifies an API object. This can be used to specify a cluster or namespace-scoped resource.",
  "f": [
   {
    "j": "apiGroup",
    "t": "*string",
    "o": 1,
    "p": 1,
    "d": "apiGroup is the group for the resource being referenced. If APIGroup is not specified, the specified Kind must be in the core API group. For any other third-party types, APIGroup is required."
   },
   {
    "j": "kind",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "kind is the type of resource being referenced."
   },
   {
    "j": "name",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "name is the name of resource being referenced."
   },
   {
    "j": "scope",
    "t": "*string",
    "p": 4,
    "d": "scope represents if this refers to a cluster or namespace scoped resource. This may be set to \"Cluster\" (default) or \"Namespace\"."
   },
   {
    "j": "namespace",
    "t": "*string",
    "o": 1,
    "p": 5,
    "d": "namespace is the namespace of the resource being referenced. This field is required when scope is set to \"Namespace\" and must be unset when scope is set to \"Cluster\"."
   }
  ]
 },
 "io.k8s.api.networking.v1.IngressClassSpec": {
  "go": "v1.IngressClassSpec",
  "d": "IngressClassSpec provides information about the class of an Ingress.",
  "f": [
   {
    "j": "controller",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "controller refers to the name of the controller that should handle this class. This allows for different \"flavors\" that are controlled by the same controller. For example, you may have different parameters for the same implementing controller. This should be specified as a domain-prefixed path no more than 250 characters in length, e.g. \"acme.io/ingress-controller\". This field is immutable."
   },
   {
    "j": "parameters",
    "t": "*@io.k8s.api.networking.v1.IngressClassParametersReference",
    "o": 1,
    "p": 2,
    "d": "parameters is a link to a custom resource containing additional configuration for the controller. This is optional if the controller does not require extra parameters."
   }
  ]
 },
 "io.k8s.api.networking.v1.IngressList": {
  "go": "v1.IngressList",
  "d": "IngressList is a collection of Ingress.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.networking.v1.Ingress",
    "p": 2,
    "req": 1,
    "d": "items is the list of Ingress."
   }
  ]
 },
 "io.k8s.api.networking.v1.IngressLoadBalancerIngress": {
  "go": "v1.IngressLoadBalancerIngress",
  "d": "IngressLoadBalancerIngress represents the status of a load-balancer ingress point.",
  "f": [
   {
    "j": "ip",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "ip is set for load-balancer ingress points that are IP based."
   },
   {
    "j": "hostname",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "hostname is set for load-balancer ingress points that are DNS based."
   },
   {
    "j": "ports",
    "t": "[]@io.k8s.api.networking.v1.IngressPortStatus",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "ports provides information about the ports exposed by this LoadBalancer."
   }
  ]
 },
 "io.k8s.api.networking.v1.IngressLoadBalancerStatus": {
  "go": "v1.IngressLoadBalancerStatus",
  "d": "IngressLoadBalancerStatus represents the status of a load-balancer.",
  "f": [
   {
    "j": "ingress",
    "t": "[]@io.k8s.api.networking.v1.IngressLoadBalancerIngress",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "ingress is a list containing ingress points for the load-balancer."
   }
  ]
 },
 "io.k8s.api.networking.v1.IngressPortStatus": {
  "go": "v1.IngressPortStatus",
  "d": "IngressPortStatus represents the error condition of a service port",
  "f": [
   {
    "j": "port",
    "t": "int32",
    "p": 1,
    "req": 1,
    "d": "port is the port number of the ingress port."
   },
   {
    "j": "protocol",
    "t": "@io.k8s.api.core.v1.Protocol",
    "p": 2,
    "req": 1,
    "d": "protocol is the protocol of the ingress port. The supported values are: \"TCP\", \"UDP\", \"SCTP\""
   },
   {
    "j": "error",
    "t": "*string",
    "o": 1,
    "p": 3,
    "d": "error is to record the problem with the service port The format of the error shall comply with the following rules: - built-in error values shall be specified in this file and those shall use\n  CamelCase names\n- cloud provider specific error values must have names that comply with the\n  format foo.example.com/CamelCase."
   }
  ]
 },
 "io.k8s.api.networking.v1.IngressRule": {
  "go": "v1.IngressRule",
  "d": "IngressRule represents the rules mapping the paths under a specified host to the related backend services. Incoming requests are first evaluated for a host match, then routed to the backend associated with the matching IngressRuleValue.",
  "f": [
   {
    "j": "host",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "host is the fully qualified domain name of a network host, as defined by RFC 3986. Note the following deviations from the \"host\" part of the URI as defined in RFC 3986: 1. IPs are not allowed. Currently an IngressRuleValue can only apply to\n   the IP in the Spec of the parent Ingress.\n2. The `:` delimiter is not respected because ports are not allowed.\n\t  Currently the port of an Ingress is implicitly :80 for http and\n\t  :443 for https.\nBoth these may change in the future. Incoming requests are matched against the host before the IngressRuleValue. If the host is unspecified, the Ingress routes all traffic based on the specified IngressRuleValue.\n\nhost can be \"precise\" which is a domain name without the terminating dot of a network host (e.g. \"foo.bar.com\") or \"wildcard\", which is a domain name prefixed with a single wildcard label (e.g. \"*.foo.com\"). The wildcard character '*' must appear by itself as the first DNS label and matches only a single label. You cannot have a wildcard label by itself (e.g. Host == \"*\"). Requests will be matched against the Host field in the following way: 1. If host is precise, the request matches this rule if the http host header is equal to Host. 2. If host is a wildcard, then the request matches this rule if the http host header is to equal to the suffix (removing the first label) of the wildcard rule."
   },
   {
    "j": "",
    "t": "@io.k8s.api.networking.v1.IngressRuleValue",
    "p": 2,
    "d": "IngressRuleValue represents a rule to route requests for this IngressRule. If unspecified, the rule defaults to a http catch-all. Whether that sends just traffic matching the host to the default backend or all traffic to the default backend, is left to the controller fulfilling the Ingress. Http is currently the only supported IngressRuleValue."
   }
  ]
 },
 "io.k8s.api.networking.v1.IngressRuleValue": {
  "go": "v1.IngressRuleValue",
  "d": "IngressRuleValue represents a rule to apply against incoming requests. If the rule is satisfied, the request is routed to the specified backend. Currently mixing different types of rules in a single Ingress is disallowed, so exactly one of the following must be set.",
  "f": [
   {
    "j": "http",
    "t": "*@io.k8s.api.networking.v1.HTTPIngressRuleValue",
    "o": 1,
    "p": 1,
    "d": "http is a HTTP IngressRuleValue, which contains a list of http selectors"
   }
  ]
 },
 "io.k8s.api.networking.v1.IngressServiceBackend": {
  "go": "v1.IngressServiceBackend",
  "d": "IngressServiceBackend references a Kubernetes Service as a Backend.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name is the referenced service. The service must exist in the same namespace as the Ingress object."
   },
   {
    "j": "port",
    "t": "@io.k8s.api.networking.v1.ServiceBackendPort",
    "o": 1,
    "p": 2,
    "d": "port of the referenced service. A port name or port number is required for a IngressServiceBackend."
   }
  ]
 },
 "io.k8s.api.networking.v1.IngressSpec": {
  "go": "v1.IngressSpec",
  "d": "IngressSpec describes the Ingress the user wishes to exist.",
  "f": [
   {
    "j": "ingressClassName",
    "t": "*string",
    "o": 1,
    "p": 4,
    "d": "ingressClassName is the name of an IngressClass cluster resource. Ingress controller implementations use this field to know whether they should be serving this Ingress resource, by a transitive connection (controller -> IngressClass -> Ingress resource). Although the `kubernetes.io/ingress.class` annotation (simple constant name) was never formally defined, it was widely supported by Ingress controllers to create a direct binding between Ingress controller and Ingress resources. Newly created Ingress resources should prefer using the field. However, even though the annotation is officially deprecated, for backwards compatibility reasons, ingress controllers should still honor that annotation if present."
   },
   {
    "j": "defaultBackend",
    "t": "*@io.k8s.api.networking.v1.IngressBackend",
    "o": 1,
    "p": 1,
    "d": "defaultBackend is the backend that should handle requests that don't match any rule. If Rules are not specified, DefaultBackend must be specified. If DefaultBackend is not set, the handling of requests that do not match any of the rules will be up to the Ingress controller."
   },
   {
    "j": "tls",
    "t": "[]@io.k8s.api.networking.v1.IngressTLS",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "tls represents the TLS configuration. Currently the Ingress only supports a single TLS port, 443. If multiple members of this list specify different hosts, they will be multiplexed on the same port according to the hostname specified through the SNI TLS extension, if the ingress controller fulfilling the ingress supports SNI."
   },
   {
    "j": "rules",
    "t": "[]@io.k8s.api.networking.v1.IngressRule",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "rules is a list of host rules used to configure the Ingress. If unspecified, or no rule matches, all traffic is sent to the default backend."
   }
  ]
 },
 "io.k8s.api.networking.v1.IngressStatus": {
  "go": "v1.IngressStatus",
  "d": "IngressStatus describe the current state of the Ingress.",
  "f": [
   {
    "j": "loadBalancer",
    "t": "@io.k8s.api.networking.v1.IngressLoadBalancerStatus",
    "o": 1,
    "p": 1,
    "d": "loadBalancer contains the current status of the load-balancer."
   }
  ]
 },
 "io.k8s.api.networking.v1.IngressTLS": {
  "go": "v1.IngressTLS",
  "d": "IngressTLS describes the transport layer security associated with an ingress.",
  "f": [
   {
    "j": "hosts",
    "t": "[]string",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "hosts is a list of hosts included in the TLS certificate. The values in this list must match the name/s used in the tlsSecret. Defaults to the wildcard host setting for the loadbalancer controller fulfilling this Ingress, if left unspecified."
   },
   {
    "j": "secretName",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "secretName is the name of the secret used to terminate TLS traffic on port 443. Field is left optional to allow TLS routing based on SNI hostname alone. If the SNI host in a listener conflicts with the \"Host\" header field used by an IngressRule, the SNI host is used for termination and value of the \"Host\" header is used for routing."
   }
  ]
 },
 "io.k8s.api.networking.v1.NetworkPolicy": {
  "go": "v1.NetworkPolicy",
  "d": "NetworkPolicy describes what network traffic is allowed for a set of Pods",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.networking.v1.NetworkPolicySpec",
    "o": 1,
    "p": 2,
    "d": "spec represents the specification of the desired behavior for this NetworkPolicy."
   }
  ]
 },
 "io.k8s.api.networking.v1.NetworkPolicyEgressRule": {
  "go": "v1.NetworkPolicyEgressRule",
  "d": "NetworkPolicyEgressRule describes a particular set of traffic that is allowed out of pods matched by a NetworkPolicySpec's podSelector. The traffic must match both ports and to. This type is beta-level in 1.8",
  "f": [
   {
    "j": "ports",
    "t": "[]@io.k8s.api.networking.v1.NetworkPolicyPort",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "ports is a list of destination ports for outgoing traffic. Each item in this list is combined using a logical OR. If this field is empty or missing, this rule matches all ports (traffic not restricted by port). If this field is present and contains at least one item, then this rule allows traffic only if the traffic matches at least one port in the list."
   },
   {
    "j": "to",
    "t": "[]@io.k8s.api.networking.v1.NetworkPolicyPeer",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "to is a list of destinations for outgoing traffic of pods selected for this rule. Items in this list are combined using a logical OR operation. If this field is empty or missing, this rule matches all destinations (traffic not restricted by destination). If this field is present and contains at least one item, this rule allows traffic only if the traffic matches at least one item in the to list."
   }
  ]
 },
 "io.k8s.api.networking.v1.NetworkPolicyIngressRule": {
  "go": "v1.NetworkPolicyIngressRule",
  "d": "NetworkPolicyIngressRule describes a particular set of traffic that is allowed to the pods matched by a NetworkPolicySpec's podSelector. The traffic must match both ports and from.",
  "f": [
   {
    "j": "ports",
    "t": "[]@io.k8s.api.networking.v1.NetworkPolicyPort",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "ports is a list of ports which should be made accessible on the pods selected for this rule. Each item in this list is combined using a logical OR. If this field is empty or missing, this rule matches all ports (traffic not restricted by port). If this field is present and contains at least one item, then this rule allows traffic only if the traffic matches at least one port in the list."
   },
   {
    "j": "from",
    "t": "[]@io.k8s.api.networking.v1.NetworkPolicyPeer",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "from is a list of sources which should be able to access the pods selected for this rule. Items in this list are combined using a logical OR operation. If this field is empty or missing, this rule matches all sources (traffic not restricted by source). If this field is present and contains at least one item, this rule allows traffic only if the traffic matches at least one item in the from list."
   }
  ]
 },
 "io.k8s.api.networking.v1.NetworkPolicyList": {
  "go": "v1.NetworkPolicyList",
  "d": "NetworkPolicyList is a list of NetworkPolicy objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.networking.v1.NetworkPolicy",
    "p": 2,
    "req": 1,
    "d": "items is a list of schema objects."
   }
  ]
 },
 "io.k8s.api.networking.v1.NetworkPolicyPeer": {
  "go": "v1.NetworkPolicyPeer",
  "d": "NetworkPolicyPeer describes a peer to allow traffic to/from. Only certain combinations of fields are allowed",
  "f": [
   {
    "j": "podSelector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 1,
    "d": "podSelector is a label selector which selects pods. This field follows standard label selector semantics; if present but empty, it selects all pods.\n\nIf namespaceSelector is also set, then the NetworkPolicyPeer as a whole selects the pods matching podSelector in the Namespaces selected by NamespaceSelector. Otherwise it selects the pods matching podSelector in the policy's own namespace."
   },
   {
    "j": "namespaceSelector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 2,
    "d": "namespaceSelector selects namespaces using cluster-scoped labels. This field follows standard label selector semantics; if present but empty, it selects all namespaces.\n\nIf podSelector is also set, then the NetworkPolicyPeer as a whole selects the pods matching podSelector in the namespaces selected by namespaceSelector. Otherwise it selects all pods in the namespaces selected by namespaceSelector."
   },
   {
    "j": "ipBlock",
    "t": "*@io.k8s.api.networking.v1.IPBlock",
    "o": 1,
    "p": 3,
    "d": "ipBlock defines policy on a particular IPBlock. If this field is set then neither of the other fields can be."
   }
  ]
 },
 "io.k8s.api.networking.v1.NetworkPolicyPort": {
  "go": "v1.NetworkPolicyPort",
  "d": "NetworkPolicyPort describes a port to allow traffic on",
  "f": [
   {
    "j": "protocol",
    "t": "*@io.k8s.api.core.v1.Protocol",
    "o": 1,
    "p": 1,
    "d": "protocol represents the protocol (TCP, UDP, or SCTP) which traffic must match. If not specified, this field defaults to TCP."
   },
   {
    "j": "port",
    "t": "*@io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "o": 1,
    "p": 2,
    "d": "port represents the port on the given protocol. This can either be a numerical or named port on a pod. If this field is not provided, this matches all port names and numbers. If present, only traffic on the specified protocol AND port will be matched."
   },
   {
    "j": "endPort",
    "t": "*int32",
    "o": 1,
    "p": 3,
    "d": "endPort indicates that the range of ports from port to endPort if set, inclusive, should be allowed by the policy. This field cannot be defined if the port field is not defined or if the port field is defined as a named (string) port. The endPort must be equal or greater than port."
   }
  ]
 },
 "io.k8s.api.networking.v1.NetworkPolicySpec": {
  "go": "v1.NetworkPolicySpec",
  "d": "NetworkPolicySpec provides the specification of a NetworkPolicy",
  "f": [
   {
    "j": "podSelector",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "p": 1,
    "d": "podSelector selects the pods to which this NetworkPolicy object applies. The array of rules is applied to any pods selected by this field. An empty selector matches all pods in the policy's namespace. Multiple network policies can select the same set of pods. In this case, the ingress rules for each are combined additively. This field is optional. If it is not specified, it defaults to an empty selector."
   },
   {
    "j": "ingress",
    "t": "[]@io.k8s.api.networking.v1.NetworkPolicyIngressRule",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "ingress is a list of ingress rules to be applied to the selected pods. Traffic is allowed to a pod if there are no NetworkPolicies selecting the pod (and cluster policy otherwise allows the traffic), OR if the traffic source is the pod's local node, OR if the traffic matches at least one ingress rule across all of the NetworkPolicy objects whose podSelector matches the pod. If this field is empty then this NetworkPolicy does not allow any traffic (and serves solely to ensure that the pods it selects are isolated by default)"
   },
   {
    "j": "egress",
    "t": "[]@io.k8s.api.networking.v1.NetworkPolicyEgressRule",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "egress is a list of egress rules to be applied to the selected pods. Outgoing traffic is allowed if there are no NetworkPolicies selecting the pod (and cluster policy otherwise allows the traffic), OR if the traffic matches at least one egress rule across all of the NetworkPolicy objects whose podSelector matches the pod. If this field is empty then this NetworkPolicy limits all outgoing traffic (and serves solely to ensure that the pods it selects are isolated by default). This field is beta-level in 1.8"
   },
   {
    "j": "policyTypes",
    "t": "[]@io.k8s.api.networking.v1.PolicyType",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "policyTypes is a list of rule types that the NetworkPolicy relates to. Valid options are [\"Ingress\"], [\"Egress\"], or [\"Ingress\", \"Egress\"]. If this field is not specified, it will default based on the existence of ingress or egress rules; policies that contain an egress section are assumed to affect egress, and all policies (whether or not they contain an ingress section) are assumed to affect ingress. If you want to write an egress-only policy, you must explicitly specify policyTypes [ \"Egress\" ]. Likewise, if you want to write a policy that specifies that no egress is allowed, you must specify a policyTypes value that include \"Egress\" (since such a policy would not include an egress section and would otherwise default to just [ \"Ingress\" ]). This field is beta-level in 1.8"
   }
  ]
 },
 "io.k8s.api.networking.v1.ParentReference": {
  "go": "v1.ParentReference",
  "d": "ParentReference describes a reference to a parent object.",
  "f": [
   {
    "j": "group",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "group is the group of the object being referenced."
   },
   {
    "j": "resource",
    "t": "string",
    "o": 1,
    "p": 2,
    "req": 1,
    "d": "resource is the resource of the object being referenced."
   },
   {
    "j": "namespace",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "namespace is the namespace of the object being referenced."
   },
   {
    "j": "name",
    "t": "string",
    "o": 1,
    "p": 4,
    "req": 1,
    "d": "name is the name of the object being referenced."
   }
  ]
 },
 "io.k8s.api.networking.v1.PathType": {
  "go": "v1.PathType",
  "u": "string"
 },
 "io.k8s.api.networking.v1.PolicyType": {
  "go": "v1.PolicyType",
  "u": "string"
 },
 "io.k8s.api.networking.v1.ServiceBackendPort": {
  "go": "v1.ServiceBackendPort",
  "d": "ServiceBackendPort is the service port being referenced.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "name is the name of the port on the Service. This is a mutually exclusive setting with \"Number\"."
   },
   {
    "j": "number",
    "t": "int32",
    "o": 1,
    "p": 2,
    "d": "number is the numerical port number (e.g. 80) on the Service. This is a mutually exclusive setting with \"Name\"."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.networking.v1.ServiceCIDR": {
  "go": "v1.ServiceCIDR",
  "d": "ServiceCIDR defines a range of IP addresses using CIDR format (e.g. 192.168.0.0/24 or 2001:db2::/64). This range is used to allocate ClusterIPs to Service objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.networking.v1.ServiceCIDRSpec",
    "o": 1,
    "p": 2,
    "d": "spec is the desired state of the ServiceCIDR. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.networking.v1.ServiceCIDRStatus",
    "o": 1,
    "p": 3,
    "d": "status represents the current state of the ServiceCIDR. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   }
  ]
 },
 "io.k8s.api.networking.v1.ServiceCIDRList": {
  "go": "v1.ServiceCIDRList",
  "d": "ServiceCIDRList contains a list of ServiceCIDR objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.networking.v1.ServiceCIDR",
    "p": 2,
    "req": 1,
    "d": "items is the list of ServiceCIDRs."
   }
  ]
 },
 "io.k8s.api.networking.v1.ServiceCIDRSpec": {
  "go": "v1.ServiceCIDRSpec",
  "d": "ServiceCIDRSpec define the CIDRs the user wants to use for allocating ClusterIPs for Services.",
  "f": [
   {
    "j": "cidrs",
    "t": "[]string",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "cidrs defines the IP blocks in CIDR notation (e.g. \"192.168.0.0/24\" or \"2001:db8::/64\") from which to assign service cluster IPs. Max of two CIDRs is allowed, one of each IP family. This field is immutable."
   }
  ]
 },
 "io.k8s.api.networking.v1.ServiceCIDRStatus": {
  "go": "v1.ServiceCIDRStatus",
  "d": "ServiceCIDRStatus describes the current state of the ServiceCIDR.",
  "f": [
   {
    "j": "conditions",
    "t": "[]@io.k8s.apimachinery.pkg.apis.meta.v1.Condition",
    "o": 1,
    "p": 1,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "conditions holds an array of metav1.Condition that describe the state of the ServiceCIDR. Current service state"
   }
  ]
 },
 "io.k8s.api.node.v1.Overhead": {
  "go": "v1.Overhead",
  "d": "Overhead structure represents the resource overhead associated with running a pod.",
  "f": [
   {
    "j": "podFixed",
    "t": "@io.k8s.api.core.v1.ResourceList",
    "o": 1,
    "p": 1,
    "d": "podFixed represents the fixed resource overhead associated with running a pod."
   }
  ]
 },
 "io.k8s.api.node.v1.RuntimeClass": {
  "go": "v1.RuntimeClass",
  "d": "RuntimeClass defines a class of container runtime supported in the cluster. The RuntimeClass is used to determine which container runtime is used to run all containers in a pod. RuntimeClasses are manually defined by a user or cluster provisioner, and referenced in the PodSpec. The Kubelet is responsible for resolving the RuntimeClassName reference before running the pod.  For more details, see https://kubernetes.io/docs/concepts/containers/runtime-class/",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "handler",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "handler specifies the underlying runtime and configuration that the CRI implementation will use to handle pods of this class. The possible values are specific to the node & CRI configuration.  It is assumed that all handlers are available on every node, and handlers of the same name are equivalent on every node. For example, a handler called \"runc\" might specify that the runc OCI runtime (using native Linux containers) will be used to run the containers in a pod. The Handler must be lowercase, conform to the DNS Label (RFC 1123) requirements, and is immutable."
   },
   {
    "j": "overhead",
    "t": "*@io.k8s.api.node.v1.Overhead",
    "o": 1,
    "p": 3,
    "d": "overhead represents the resource overhead associated with running a pod for a given RuntimeClass. For more details, see\n https://kubernetes.io/docs/concepts/scheduling-eviction/pod-overhead/"
   },
   {
    "j": "scheduling",
    "t": "*@io.k8s.api.node.v1.Scheduling",
    "o": 1,
    "p": 4,
    "d": "scheduling holds the scheduling constraints to ensure that pods running with this RuntimeClass are scheduled to nodes that support it. If scheduling is nil, this RuntimeClass is assumed to be supported by all nodes."
   }
  ]
 },
 "io.k8s.api.node.v1.RuntimeClassList": {
  "go": "v1.RuntimeClassList",
  "d": "RuntimeClassList is a list of RuntimeClass objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.node.v1.RuntimeClass",
    "p": 2,
    "req": 1,
    "d": "items is a list of schema objects."
   }
  ]
 },
 "io.k8s.api.node.v1.Scheduling": {
  "go": "v1.Scheduling",
  "d": "Scheduling specifies the scheduling constraints for nodes supporting a RuntimeClass.",
  "f": [
   {
    "j": "nodeSelector",
    "t": "map[string]string",
    "o": 1,
    "p": 1,
    "st": "atomic",
    "d": "nodeSelector lists labels that must be present on nodes that support this RuntimeClass. Pods using this RuntimeClass can only be scheduled to a node matched by this selector. The RuntimeClass nodeSelector is merged with a pod's existing nodeSelector. Any conflicts will cause the pod to be rejected in admission."
   },
   {
    "j": "tolerations",
    "t": "[]@io.k8s.api.core.v1.Toleration",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "tolerations are appended (excluding duplicates) to pods running with this RuntimeClass during admission, effectively unioning the set of nodes tolerated by the pod and the RuntimeClass."
   }
  ]
 },
 "io.k8s.api.policy.v1.Eviction": {
  "go": "v1.Eviction",
  "d": "Eviction evicts a pod from its node subject to certain policies and safety constraints. This is a subresource of Pod.  A request to cause such an eviction is created by POSTing to .../pods/<pod name>/evictions.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata describes the pod that is being evicted."
   },
   {
    "j": "deleteOptions",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    "o": 1,
    "p": 2,
    "d": "deleteOptions may be provided"
   }
  ]
 },
 "io.k8s.api.policy.v1.PodDisruptionBudget": {
  "go": "v1.PodDisruptionBudget",
  "d": "PodDisruptionBudget is an object to define the max disruption that can be caused to a collection of pods",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.policy.v1.PodDisruptionBudgetSpec",
    "o": 1,
    "p": 2,
    "d": "spec is the specification of the desired behavior of the PodDisruptionBudget."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.policy.v1.PodDisruptionBudgetStatus",
    "o": 1,
    "p": 3,
    "d": "status is the most recently observed status of the PodDisruptionBudget."
   }
  ]
 },
 "io.k8s.api.policy.v1.PodDisruptionBudgetList": {
  "go": "v1.PodDisruptionBudgetList",
  "d": "PodDisruptionBudgetList is a collection of PodDisruptionBudgets.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.policy.v1.PodDisruptionBudget",
    "p": 2,
    "req": 1,
    "d": "Items is a list of PodDisruptionBudgets"
   }
  ]
 },
 "io.k8s.api.policy.v1.PodDisruptionBudgetSpec": {
  "go": "v1.PodDisruptionBudgetSpec",
  "d": "PodDisruptionBudgetSpec is a description of a PodDisruptionBudget.",
  "f": [
   {
    "j": "minAvailable",
    "t": "*@io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "o": 1,
    "p": 1,
    "d": "minAvailable indicates that an eviction is allowed if at least \"minAvailable\" pods selected by \"selector\" will still be available after the eviction, i.e. even in the absence of the evicted pod.  So for example you can prevent all voluntary evictions by specifying \"100%\"."
   },
   {
    "j": "selector",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 2,
    "ps": "replace",
    "d": "selector is a label query over pods whose evictions are managed by the disruption budget. A null selector will match no pods, while an empty ({}) selector will select all pods within the namespace."
   },
   {
    "j": "maxUnavailable",
    "t": "*@io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "o": 1,
    "p": 3,
    "d": "maxUnavailable indicates that an eviction is allowed if at most \"maxUnavailable\" pods selected by \"selector\" are unavailable after the eviction, i.e. even in absence of the evicted pod. For example, one can prevent all voluntary evictions by specifying 0. This is a mutually exclusive setting with \"minAvailable\"."
   },
   {
    "j": "unhealthyPodEvictionPolicy",
    "t": "*@io.k8s.api.policy.v1.UnhealthyPodEvictionPolicyType",
    "o": 1,
    "p": 4,
    "d": "unhealthyPodEvictionPolicy defines the criteria for when unhealthy pods should be considered for eviction. Current implementation considers healthy pods, as pods that have status.conditions item with type=\"Ready\",status=\"True\".\n\nValid policies are IfHealthyBudget and AlwaysAllow. If no policy is specified, the default behavior will be used, which corresponds to the IfHealthyBudget policy.\n\nIfHealthyBudget policy means that running pods (status.phase=\"Running\"), but not yet healthy can be evicted only if the guarded application is not disrupted (status.currentHealthy is at least equal to status.desiredHealthy). Healthy pods will be subject to the PDB for eviction.\n\nAlwaysAllow policy means that all running pods (status.phase=\"Running\"), but not yet healthy are considered disrupted and can be evicted regardless of whether the criteria in a PDB is met. This means perspective running pods of a disrupted application might not get a chance to become healthy. Healthy pods will be subject to the PDB for eviction.\n\nAdditional policies may be added in the future. Clients making eviction decisions should disallow eviction of unhealthy pods if they encounter an unrecognized policy in this field."
   }
  ]
 },
 "io.k8s.api.policy.v1.PodDisruptionBudgetStatus": {
  "go": "v1.PodDisruptionBudgetStatus",
  "d": "PodDisruptionBudgetStatus represents information about the status of a PodDisruptionBudget. Status may trail the actual state of a system.",
  "f": [
   {
    "j": "observedGeneration",
    "t": "int64",
    "o": 1,
    "p": 1,
    "d": "Most recent generation observed when updating this PDB status. DisruptionsAllowed and other status information is valid only if observedGeneration equals to PDB's object generation."
   },
   {
    "j": "disruptedPods",
    "t": "map[string]@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 2,
    "d": "DisruptedPods contains information about pods whose eviction was processed by the API server eviction subresource handler but has not yet been observed by the PodDisruptionBudget controller. A pod will be in this map from the time when the API server processed the eviction request to the time when the pod is seen by PDB controller as having been marked for deletion (or after a timeout). The key in the map is the name of the pod and the value is the time when the API server processed the eviction request. If the deletion didn't occur and a pod is still there it will be removed from the list automatically by PodDisruptionBudget controller after some time. If everything goes smooth this map should be empty for the most of the time. Large number of entries in the map may indicate problems with pod deletions."
   },
   {
    "j": "disruptionsAllowed",
    "t": "int32",
    "p": 3,
    "d": "Number of pod disruptions that are currently allowed."
   },
   {
    "j": "currentHealthy",
    "t": "int32",
    "p": 4,
    "d": "current number of healthy pods"
   },
   {
    "j": "desiredHealthy",
    "t": "int32",
    "p": 5,
    "d": "minimum desired number of healthy pods"
   },
   {
    "j": "expectedPods",
    "t": "int32",
    "p": 6,
    "d": "total number of pods counted by this disruption budget"
   },
   {
    "j": "conditions",
    "t": "[]@io.k8s.apimachinery.pkg.apis.meta.v1.Condition",
    "o": 1,
    "p": 7,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "Conditions contain conditions for PDB. The disruption controller sets the DisruptionAllowed condition. The following are known values for the reason field (additional reasons could be added in the future): - SyncFailed: The controller encountered an error and wasn't able to compute\n              the number of allowed disruptions. Therefore no disruptions are\n              allowed and the status of the condition will be False.\n- InsufficientPods: The number of pods are either at or below the number\n                    required by the PodDisruptionBudget. No disruptions are\n                    allowed and the status of the condition will be False.\n- SufficientPods: There are more pods than required by the PodDisruptionBudget.\n                  The condition will be True, and the number of allowed\n                  disruptions are provided by the disruptionsAllowed property."
   }
  ]
 },
 "io.k8s.api.policy.v1.UnhealthyPodEvictionPolicyType": {
  "go": "v1.UnhealthyPodEvictionPolicyType",
  "u": "string"
 },
 "io.k8s.api.rbac.v1.AggregationRule": {
  "go": "v1.AggregationRule",
  "d": "AggregationRule describes how to locate ClusterRoles to aggregate into the ClusterRole",
  "f": [
   {
    "j": "clusterRoleSelectors",
    "t": "[]@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "clusterRoleSelectors holds a list of selectors which will be used to find ClusterRoles and create the rules. If any of the selectors match, then the ClusterRole's permissions will be added"
   }
  ]
 },
 "io.k8s.api.rbac.v1.ClusterRole": {
  "go": "v1.ClusterRole",
  "d": "ClusterRole is a cluster level, logical grouping of PolicyRules that can be referenced as a unit by a RoleBinding or ClusterRoleBinding.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object's metadata."
   },
   {
    "j": "rules",
    "t": "[]@io.k8s.api.rbac.v1.PolicyRule",
    "p": 2,
    "lt": "atomic",
    "d": "rules holds all the PolicyRules for this ClusterRole"
   },
   {
    "j": "aggregationRule",
    "t": "*@io.k8s.api.rbac.v1.AggregationRule",
    "o": 1,
    "p": 3,
    "d": "aggregationRule is an optional field that describes how to build the Rules for this ClusterRole. If AggregationRule is set, then the Rules are controller managed and direct changes to Rules will be stomped by the controller."
   }
  ]
 },
 "io.k8s.api.rbac.v1.ClusterRoleBinding": {
  "go": "v1.ClusterRoleBinding",
  "d": "ClusterRoleBinding references a ClusterRole, but not contain it.  It can reference a ClusterRole in the global namespace, and adds who information via Subject.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object's metadata."
   },
   {
    "j": "subjects",
    "t": "[]@io.k8s.api.rbac.v1.Subject",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "subjects holds references to the objects the role applies to."
   },
   {
    "j": "roleRef",
    "t": "@io.k8s.api.rbac.v1.RoleRef",
    "p": 3,
    "req": 1,
    "d": "roleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error. This field is immutable."
   }
  ]
 },
 "io.k8s.api.rbac.v1.ClusterRoleBindingList": {
  "go": "v1.ClusterRoleBindingList",
  "d": "ClusterRoleBindingList is a collection of ClusterRoleBindings",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata."
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.rbac.v1.ClusterRoleBinding",
    "p": 2,
    "req": 1,
    "d": "Items is a list of ClusterRoleBindings"
   }
  ]
 },
 "io.k8s.api.rbac.v1.ClusterRoleList": {
  "go": "v1.ClusterRoleList",
  "d": "ClusterRoleList is a collection of ClusterRoles",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata."
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.rbac.v1.ClusterRole",
    "p": 2,
    "req": 1,
    "d": "Items is a list of ClusterRoles"
   }
  ]
 },
 "io.k8s.api.rbac.v1.PolicyRule": {
  "go": "v1.PolicyRule",
  "d": "PolicyRule holds information that describes a policy rule, but does not contain information about who the rule applies to or which namespace the rule applies to.",
  "f": [
   {
    "j": "verbs",
    "t": "[]string",
    "p": 1,
    "lt": "atomic",
    "req": 1,
    "d": "verbs is a list of Verbs that apply to ALL the ResourceKinds contained in this rule. '*' represents all verbs."
   },
   {
    "j": "apiGroups",
    "t": "[]string",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "apiGroups is the name of the APIGroup that contains the resources.  If multiple API groups are specified, any action requested against one of the enumerated resources in any API group will be allowed. \"\" represents the core API group and \"*\" represents all API groups."
   },
   {
    "j": "resources",
    "t": "[]string",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "resources is a list of resources this rule applies to. '*' represents all resources."
   },
   {
    "j": "resourceNames",
    "t": "[]string",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "resourceNames is an optional white list of names that the rule applies to.  An empty set means that everything is allowed."
   },
   {
    "j": "nonResourceURLs",
    "t": "[]string",
    "o": 1,
    "p": 5,
    "lt": "atomic",
    "d": "nonResourceURLs is a set of partial urls that a user should have access to.  *s are allowed, but only as the full, final step in the path Since non-resource URLs are not namespaced, this field is only applicable for ClusterRoles referenced from a ClusterRoleBinding. Rules can either apply to API resources (such as \"pods\" or \"secrets\") or non-resource URL paths (such as \"/api\"),  but not both."
   }
  ]
 },
 "io.k8s.api.rbac.v1.Role": {
  "go": "v1.Role",
  "d": "Role is a namespaced, logical grouping of PolicyRules that can be referenced as a unit by a RoleBinding.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object's metadata."
   },
   {
    "j": "rules",
    "t": "[]@io.k8s.api.rbac.v1.PolicyRule",
    "p": 2,
    "lt": "atomic",
    "d": "rules holds all the PolicyRules for this Role"
   }
  ]
 },
 "io.k8s.api.rbac.v1.RoleBinding": {
  "go": "v1.RoleBinding",
  "d": "RoleBinding references a role, but does not contain it.  It can reference a Role in the same namespace or a ClusterRole in the global namespace. It adds who information via Subjects and namespace information by which namespace it exists in.  RoleBindings in a given namespace only have effect in that namespace.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object's metadata."
   },
   {
    "j": "subjects",
    "t": "[]@io.k8s.api.rbac.v1.Subject",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "subjects holds references to the objects the role applies to."
   },
   {
    "j": "roleRef",
    "t": "@io.k8s.api.rbac.v1.RoleRef",
    "p": 3,
    "req": 1,
    "d": "roleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error. This field is immutable."
   }
  ]
 },
 "io.k8s.api.rbac.v1.RoleBindingList": {
  "go": "v1.RoleBindingList",
  "d": "RoleBindingList is a collection of RoleBindings",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata."
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.rbac.v1.RoleBinding",
    "p": 2,
    "req": 1,
    "d": "Items is a list of RoleBindings"
   }
  ]
 },
 "io.k8s.api.rbac.v1.RoleList": {
  "go": "v1.RoleList",
  "d": "RoleList is a collection of Roles",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata."
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.rbac.v1.Role",
    "p": 2,
    "req": 1,
    "d": "Items is a list of Roles"
   }
  ]
 },
 "io.k8s.api.rbac.v1.RoleRef": {
  "go": "v1.RoleRef",
  "d": "RoleRef contains information that points to the role being used",
  "f": [
   {
    "j": "apiGroup",
    "t": "string",
    "p": 1,
    "d": "apiGroup is the group for the resource being referenced"
   },
   {
    "j": "kind",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "kind is the type of resource being referenced"
   },
   {
    "j": "name",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "name is the name of resource being referenced"
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.rbac.v1.Subject": {
  "go": "v1.Subject",
  "d": "Subject contains a reference to the object or user identities a role binding applies to.  This can either hold a direct API object reference, or a value for non-objects such as user and group names.",
  "f": [
   {
    "j": "kind",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "kind of object being referenced. Values defined by this API group are \"User\", \"Group\", and \"ServiceAccount\". If the Authorizer does not recognized the kind value, the Authorizer should report an error."
   },
   {
    "j": "apiGroup",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "apiGroup holds the API group of the referenced subject. Defaults to \"\" for ServiceAccount subjects. Defaults to \"rbac.authorization.k8s.io\" for User and Group subjects."
   },
   {
    "j": "name",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "name of the object being referenced."
   },
   {
    "j": "namespace",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "namespace of the referenced object.  If the object kind is non-namespace, such as \"User\" or \"Group\", and this value is not empty the Authorizer should report an error."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.api.resource.v1.AllocatedDeviceStatus": {
  "go": "v1.AllocatedDeviceStatus",
  "d": "AllocatedDeviceStatus contains the status of an allocated device, if the driver chooses to report it. This may include driver-specific information.\n\nThe combination of Driver, Pool, Device, and ShareID must match the corresponding key in Status.Allocation.Devices.",
  "f": [
   {
    "j": "driver",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Driver specifies the name of the DRA driver whose kubelet plugin should be invoked to process the allocation once the claim is needed on a node.\n\nMust be a DNS subdomain and should end with a DNS domain owned by the vendor of the driver. It should use only lower case characters."
   },
   {
    "j": "pool",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "This name together with the driver name and the device name field identify which device was allocated (`<driver name>/<pool name>/<device name>`).\n\nMust not be longer than 253 characters and may contain one or more DNS sub-domains separated by slashes."
   },
   {
    "j": "device",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "Device references one device instance via its name in the driver's resource pool. It must be a DNS label."
   },
   {
    "j": "shareID",
    "t": "*string",
    "o": 1,
    "p": 7,
    "d": "ShareID uniquely identifies an individual allocation share of the device."
   },
   {
    "j": "conditions",
    "t": "[]@io.k8s.apimachinery.pkg.apis.meta.v1.Condition",
    "p": 4,
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "Conditions contains the latest observation of the device's state. If the device has been configured according to the class and claim config references, the `Ready` condition should be True.\n\nMust not contain more than 8 entries."
   },
   {
    "j": "data",
    "t": "*@io.k8s.apimachinery.pkg.runtime.RawExtension",
    "o": 1,
    "p": 5,
    "d": "Data contains arbitrary driver-specific data.\n\nThe length of the raw data must be smaller or equal to 10 Ki."
   },
   {
    "j": "networkData",
    "t": "*@io.k8s.api.resource.v1.NetworkDeviceData",
    "o": 1,
    "p": 6,
    "d": "NetworkData contains network-related information specific to the device."
   }
  ]
 },
 "io.k8s.api.resource.v1.AllocationConfigSource": {
  "go": "v1.AllocationConfigSource",
  "u": "string"
 },
 "io.k8s.api.resource.v1.AllocationResult": {
  "go": "v1.AllocationResult",
  "d": "AllocationResult contains attributes of an allocated resource.",
  "f": [
   {
    "j": "devices",
    "t": "@io.k8s.api.resource.v1.DeviceAllocationResult",
    "o": 1,
    "p": 1,
    "d": "Devices is the result of allocating devices."
   },
   {
    "j": "nodeSelector",
    "t": "*@io.k8s.api.core.v1.NodeSelector",
    "o": 1,
    "p": 3,
    "d": "NodeSelector defines where the allocated resources are available. If unset, they are available everywhere."
   },
   {
    "j": "allocationTimestamp",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 5,
    "d": "AllocationTimestamp stores the time when the resources were allocated. This field is not guaranteed to be set, in which case that time is unknown.\n\nThis is a beta field and requires enabling the DRADeviceBindingConditions and DRAResourceClaimDeviceStatus feature gate."
   }
  ]
 },
 "io.k8s.api.resource.v1.CELDeviceSelector": {
  "go": "v1.CELDeviceSelector",
  "d": "CELDeviceSelector contains a CEL expression for selecting a device.",
  "f": [
   {
    "j": "expression",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Expression is a CEL expression which evaluates a single device. It must evaluate to true when the device under consideration satisfies the desired criteria, and false when it does not. Any other result is an error and causes allocation of devices to abort.\n\nThe expression's input is an object named \"device\", which carries the following properties:\n - driver (string): the name of the driver which defines this device.\n - attributes (map[string]object): the device's attributes, grouped by prefix\n   (e.g. device.attributes[\"dra.example.com\"] evaluates to an object with all\n   of the attributes which were prefixed by \"dra.example.com\").\n - capacity (map[string]object): the device's capacities, grouped by prefix.\n - allowMultipleAllocations (bool): the allowMultipleAllocations property of the device\n   (v1.34+ with the DRAConsumableCapacity feature enabled).\n\nExample: Consider a device with driver=\"dra.example.com\", which exposes two attributes named \"model\" and \"ext.example.com/family\" and which exposes one capacity named \"modules\". This input to this expression would have the following fields:\n\n    device.driver\n    device.attributes[\"dra.example.com\"].model\n    device.attributes[\"ext.example.com\"].family\n    device.capacity[\"dra.example.com\"].modules\n\nThe device.driver field can be used to check for a specific driver, either as a high-level precondition (i.e. you only want to consider devices from this driver) or as part of a multi-clause expression that is meant to consider devices from different drivers.\n\nThe value type of each attribute is defined by the device definition, and users who write these expressions must consult the documentation for their specific drivers. The value type of each capacity is Quantity.\n\nIf an unknown prefix is used as a lookup in either device.attributes or device.capacity, an empty map will be returned. Any reference to an unknown field will cause an evaluation error and allocation to abort.\n\nA robust expression should check for the existence of attributes before referencing them.\n\nCommon errors: - \"no such key\": Use optional chaining (.? followed by orValue())\n  or guarding the check with has() for optional fields.\n  See CEL Optional Types for details:\n  https://pkg.go.dev/github.com/google/cel-go@v0.17.4/cel#OptionalTypes\n\nFor more CEL expression syntax and examples, see: https://kubernetes.io/docs/reference/using-api/cel/\n\nFor ease of use, the cel.bind() function is enabled, and can be used to simplify expressions that access multiple attributes with the same domain. For example:\n\n    cel.bind(dra, device.attributes[\"dra.example.com\"], dra.someBool && dra.anotherBool)\n\nWhen the DRAListTypeAttributes feature gate is enabled, the includes() helper is available and it can work for both scalar and list-type attributes. It was introduced to support smooth migration from scalar attributes to list-type attributes while keeping CEL expressions simple. For example:\n\n    device.attributes[\"dra.example.com\"].models.includes(\"some-model\")\n\nThe length of the expression must be smaller or equal to 10 Ki. The cost of evaluating it is also limited based on the estimated number of logical steps."
   }
  ]
 },
 "io.k8s.api.resource.v1.CapacityRequestPolicy": {
  "go": "v1.CapacityRequestPolicy",
  "d": "CapacityRequestPolicy defines how requests consume device capacity.\n\nMust not set more than one ValidRequestValues.",
  "f": [
   {
    "j": "default",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "p": 1,
    "d": "Default specifies how much of this capacity is consumed by a request that does not contain an entry for it in DeviceRequest's Capacity."
   },
   {
    "j": "validValues",
    "t": "[]@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "ValidValues defines a set of acceptable quantity values in consuming requests.\n\nMust not contain more than 10 entries. Must be sorted in ascending order.\n\nIf this field is set, Default must be defined and it must be included in ValidValues list.\n\nIf the requested amount does not match any valid value but smaller than some valid values, the scheduler calculates the smallest valid value that is greater than or equal to the request. That is: min(ceil(requestedValue) ∈ validValues), where requestedValue ≤ max(validValues).\n\nIf the requested amount exceeds all valid values, the request violates the policy, and this device cannot be allocated."
   },
   {
    "j": "validRange",
    "t": "*@io.k8s.api.resource.v1.CapacityRequestPolicyRange",
    "o": 1,
    "p": 4,
    "d": "ValidRange defines an acceptable quantity value range in consuming requests.\n\nIf this field is set, Default must be defined and it must fall within the defined ValidRange.\n\nIf the requested amount does not fall within the defined range, the request violates the policy, and this device cannot be allocated.\n\nIf the request doesn't contain this capacity entry, Default value is used."
   }
  ]
 },
 "io.k8s.api.resource.v1.CapacityRequestPolicyRange": {
  "go": "v1.CapacityRequestPolicyRange",
  "d": "CapacityRequestPolicyRange defines a valid range for consumable capacity values.\n\nIf the DRAFractionalCapacityRange feature gate is enabled and at least one of Min, Max, or Step is a fractional quantity (i.e. its value is not an integer), milli-unit arithmetic is used instead, supporting values with up to 3 decimal places (e.g. 100m = 0.1). The largest supported value then is 1000 times smaller compared to using 64-bit integers. Otherwise, all comparisons use 64-bit integer arithmetic via resource.Quantity.Value().\n\n  - If the requested amount is less than Min, it is rounded up to the Min value.\n  - If Step is set and the requested amount is between Min and Max but not aligned with Step,\n    it will be rounded up to the next value equal to Min + (n * Step).\n  - If Step is not set, the requested amount is used as-is if it falls within the range Min to Max (if set).\n  - If the requested or rounded amount exceeds Max (if set), the request does not satisfy the policy,\n    and the device cannot be allocated.",
  "f": [
   {
    "j": "min",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 1,
    "req": 1,
    "d": "Min specifies the minimum capacity allowed for a consumption request.\n\nMin must be greater than or equal to zero, and less than or equal to the capacity value. requestPolicy.default must be more than or equal to the minimum."
   },
   {
    "j": "max",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 2,
    "d": "Max defines the upper limit for capacity that can be requested.\n\nMax must be less than or equal to the capacity value. Min and requestPolicy.default must be less than or equal to the maximum."
   },
   {
    "j": "step",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 3,
    "d": "Step defines the step size between valid capacity amounts within the range.\n\nMax (if set) and requestPolicy.default must be a multiple of Step. Min + Step must be less than or equal to the capacity value."
   }
  ]
 },
 "io.k8s.api.resource.v1.CapacityRequirements": {
  "go": "v1.CapacityRequirements",
  "d": "CapacityRequirements defines the capacity requirements for a specific device request.",
  "f": [
   {
    "j": "requests",
    "t": "map[string]@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 1,
    "d": "Requests represent individual device resource requests for distinct resources, all of which must be provided by the device.\n\nThis value is used as an additional filtering condition against the available capacity on the device. This is semantically equivalent to a CEL selector with `device.capacity[<domain>].<name>.compareTo(quantity(<request quantity>)) >= 0`. For example, device.capacity['test-driver.cdi.k8s.io'].counters.compareTo(quantity('2')) >= 0.\n\nWhen a requestPolicy is defined, the requested amount is adjusted upward to the nearest valid value based on the policy. If the requested amount cannot be adjusted to a valid value—because it exceeds what the requestPolicy allows— the device is considered ineligible for allocation.\n\nFor any capacity that is not explicitly requested: - If no requestPolicy is set, the default consumed capacity is equal to the full device capacity\n  (i.e., the whole device is claimed).\n- If a requestPolicy is set, the default consumed capacity is determined according to that policy.\n\nIf the device allows multiple allocation, the aggregated amount across all requests must not exceed the capacity value. The consumed capacity, which may be adjusted based on the requestPolicy if defined, is recorded in the resource claim’s status.devices[*].consumedCapacity field."
   }
  ]
 },
 "io.k8s.api.resource.v1.Counter": {
  "go": "v1.Counter",
  "d": "Counter describes a quantity associated with a device.",
  "f": [
   {
    "j": "value",
    "t": "@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "p": 1,
    "req": 1,
    "d": "Value defines how much of a certain device counter is available."
   }
  ]
 },
 "io.k8s.api.resource.v1.CounterSet": {
  "go": "v1.CounterSet",
  "d": "CounterSet defines a named set of counters that are available to be used by devices defined in the ResourcePool.\n\nThe counters are not allocatable by themselves, but can be referenced by devices. When a device is allocated, the portion of counters it uses will no longer be available for use by other devices.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Name defines the name of the counter set. It must be a DNS label."
   },
   {
    "j": "counters",
    "t": "map[string]@io.k8s.api.resource.v1.Counter",
    "o": 1,
    "p": 2,
    "req": 1,
    "d": "Counters defines the set of counters for this CounterSet The name of each counter must be unique in that set and must be a DNS label.\n\nThe maximum number of counters is 32."
   }
  ]
 },
 "io.k8s.api.resource.v1.Device": {
  "go": "v1.Device",
  "d": "Device represents one individual hardware instance that can be selected based on its attributes. Besides the name, exactly one field must be set.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Name is unique identifier among all devices managed by the driver in the pool. It must be a DNS label."
   },
   {
    "j": "attributes",
    "t": "map[string]@io.k8s.api.resource.v1.DeviceAttribute",
    "o": 1,
    "p": 2,
    "d": "Attributes defines the set of attributes for this device. The name of each attribute must be unique in that set.\n\nThe maximum number of attributes and capacities combined is 32."
   },
   {
    "j": "capacity",
    "t": "map[string]@io.k8s.api.resource.v1.DeviceCapacity",
    "o": 1,
    "p": 3,
    "d": "Capacity defines the set of capacities for this device. The name of each capacity must be unique in that set.\n\nThe maximum number of attributes and capacities combined is 32."
   },
   {
    "j": "consumesCounters",
    "t": "[]@io.k8s.api.resource.v1.DeviceCounterConsumption",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "ConsumesCounters defines a list of references to sharedCounters and the set of counters that the device will consume from those counter sets.\n\nThere can only be a single entry per counterSet.\n\nThe maximum number of device counter consumptions per device is 2."
   },
   {
    "j": "nodeName",
    "t": "*string",
    "o": 1,
    "p": 5,
    "d": "NodeName identifies the node where the device is available.\n\nMust only be set if Spec.PerDeviceNodeSelection is set to true. At most one of NodeName, NodeSelector and AllNodes can be set."
   },
   {
    "j": "nodeSelector",
    "t": "*@io.k8s.api.core.v1.NodeSelector",
    "o": 1,
    "p": 6,
    "d": "NodeSelector defines the nodes where the device is available.\n\nMust use exactly one term.\n\nMust only be set if Spec.PerDeviceNodeSelection is set to true. At most one of NodeName, NodeSelector and AllNodes can be set."
   },
   {
    "j": "allNodes",
    "t": "*bool",
    "o": 1,
    "p": 7,
    "d": "AllNodes indicates that all nodes have access to the device.\n\nMust only be set if Spec.PerDeviceNodeSelection is set to true. At most one of NodeName, NodeSelector and AllNodes can be set."
   },
   {
    "j": "taints",
    "t": "[]@io.k8s.api.resource.v1.DeviceTaint",
    "o": 1,
    "p": 8,
    "lt": "atomic",
    "d": "If specified, these are the driver-defined taints.\n\nThe maximum number of taints is 16. If taints are set for any device in a ResourceSlice, then the maximum number of allowed devices per ResourceSlice is 64 instead of 128.\n\nThis is a beta field and requires enabling the DRADeviceTaints feature gate."
   },
   {
    "j": "bindsToNode",
    "t": "*bool",
    "o": 1,
    "p": 9,
    "d": "BindsToNode indicates if the usage of an allocation involving this device has to be limited to exactly the node that was chosen when allocating the claim. If set to true, the scheduler will set the ResourceClaim.Status.Allocation.NodeSelector to match the node where the allocation was made.\n\nThis is a beta field and requires enabling the DRADeviceBindingConditions and DRAResourceClaimDeviceStatus feature gates."
   },
   {
    "j": "bindingConditions",
    "t": "[]string",
    "o": 1,
    "p": 10,
    "lt": "atomic",
    "d": "BindingConditions defines the conditions for proceeding with binding. All of these conditions must be set in the per-device status conditions with a value of True to proceed with binding the pod to the node while scheduling the pod.\n\nThe maximum number of binding conditions is 4.\n\nThe conditions must be a valid condition type string.\n\nThis is a beta field and requires enabling the DRADeviceBindingConditions and DRAResourceClaimDeviceStatus feature gates."
   },
   {
    "j": "bindingFailureConditions",
    "t": "[]string",
    "o": 1,
    "p": 11,
    "lt": "atomic",
    "d": "BindingFailureConditions defines the conditions for binding failure. They may be set in the per-device status conditions. If any is set to \"True\", a binding failure occurred.\n\nThe maximum number of binding failure conditions is 4.\n\nThe conditions must be a valid condition type string.\n\nThis is a beta field and requires enabling the DRADeviceBindingConditions and DRAResourceClaimDeviceStatus feature gates."
   },
   {
    "j": "allowMultipleAllocations",
    "t": "*bool",
    "o": 1,
    "p": 12,
    "d": "AllowMultipleAllocations marks whether the device is allowed to be allocated to multiple DeviceRequests.\n\nIf AllowMultipleAllocations is set to true, the device can be allocated more than once, and all of its capacity is consumable, regardless of whether the requestPolicy is defined or not."
   },
   {
    "j": "nodeAllocatableResources",
    "t": "map[string]@io.k8s.api.resource.v1.NodeAllocatableResource",
    "o": 1,
    "p": 14,
    "d": "NodeAllocatableResources defines the mapping of node resources that are managed by the DRA driver exposing this device. This includes resources currently reported in v1.Node `status.allocatable` that are not extended resources (see https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources). Examples include \"cpu\", \"memory\", \"ephemeral-storage\", and hugepages. In addition to standard requests made through the Pod `spec`, these resources can also be requested through claims and allocated by the DRA driver. For example, a CPU DRA driver might allocate exclusive CPUs or auxiliary node memory dependencies of an accelerator device. The keys of this map are the node-allocatable resource names (e.g., \"cpu\", \"memory\"). Extended resource names are not permitted as keys."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceAllocationConfiguration": {
  "go": "v1.DeviceAllocationConfiguration",
  "d": "DeviceAllocationConfiguration gets embedded in an AllocationResult.",
  "f": [
   {
    "j": "source",
    "t": "@io.k8s.api.resource.v1.AllocationConfigSource",
    "p": 1,
    "req": 1,
    "d": "Source records whether the configuration comes from a class and thus is not something that a normal user would have been able to set or from a claim."
   },
   {
    "j": "requests",
    "t": "[]string",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "Requests lists the names of requests where the configuration applies. If empty, its applies to all requests.\n\nReferences to subrequests must include the name of the main request and may include the subrequest using the format <main request>[/<subrequest>]. If just the main request is given, the configuration applies to all subrequests."
   },
   {
    "j": "",
    "t": "@io.k8s.api.resource.v1.DeviceConfiguration",
    "p": 3,
    "req": 1
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceAllocationMode": {
  "go": "v1.DeviceAllocationMode",
  "u": "string"
 },
 "io.k8s.api.resource.v1.DeviceAllocationResult": {
  "go": "v1.DeviceAllocationResult",
  "d": "DeviceAllocationResult is the result of allocating devices.",
  "f": [
   {
    "j": "results",
    "t": "[]@io.k8s.api.resource.v1.DeviceRequestAllocationResult",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "Results lists all allocated devices."
   },
   {
    "j": "config",
    "t": "[]@io.k8s.api.resource.v1.DeviceAllocationConfiguration",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "This field is a combination of all the claim and class configuration parameters. Drivers can distinguish between those based on a flag.\n\nThis includes configuration parameters for drivers which have no allocated devices in the result because it is up to the drivers which configuration parameters they support. They can silently ignore unknown configuration parameters."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceAttribute": {
  "go": "v1.DeviceAttribute",
  "d": "DeviceAttribute must have exactly one field set.",
  "f": [
   {
    "j": "int",
    "t": "*int64",
    "o": 1,
    "p": 2,
    "d": "IntValue is a number."
   },
   {
    "j": "bool",
    "t": "*bool",
    "o": 1,
    "p": 3,
    "d": "BoolValue is a true/false value."
   },
   {
    "j": "string",
    "t": "*string",
    "o": 1,
    "p": 4,
    "d": "StringValue is a string. Must not be longer than 64 characters."
   },
   {
    "j": "version",
    "t": "*string",
    "o": 1,
    "p": 5,
    "d": "VersionValue is a semantic version according to semver.org spec 2.0.0. Must not be longer than 64 characters."
   },
   {
    "j": "ints",
    "t": "[]int64",
    "o": 1,
    "p": 6,
    "lt": "atomic",
    "d": "IntValues is a non-empty list of numbers.\n\nThis is an alpha field and requires enabling the DRAListTypeAttributes feature gate."
   },
   {
    "j": "bools",
    "t": "[]bool",
    "o": 1,
    "p": 7,
    "lt": "atomic",
    "d": "BoolValues is a non-empty list of true/false values."
   },
   {
    "j": "strings",
    "t": "[]string",
    "o": 1,
    "p": 8,
    "lt": "atomic",
    "d": "StringValues is a non-empty list of strings. Each string must not be longer than 64 characters.\n\nThis is an alpha field and requires enabling the DRAListTypeAttributes feature gate."
   },
   {
    "j": "versions",
    "t": "[]string",
    "o": 1,
    "p": 9,
    "lt": "atomic",
    "d": "VersionValues is a non-empty list of semantic versions according to semver.org spec 2.0.0. Each version string must not be longer than 64 characters.\n\nThis is an alpha field and requires enabling the DRAListTypeAttributes feature gate."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceCapacity": {
  "go": "v1.DeviceCapacity",
  "d": "DeviceCapacity describes a quantity associated with a device.",
  "f": [
   {
    "j": "value",
    "t": "@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "p": 1,
    "req": 1,
    "d": "Value defines how much of a certain capacity that device has.\n\nThis field reflects the fixed total capacity and does not change. The consumed amount is tracked separately by scheduler and does not affect this value."
   },
   {
    "j": "requestPolicy",
    "t": "*@io.k8s.api.resource.v1.CapacityRequestPolicy",
    "o": 1,
    "p": 2,
    "d": "RequestPolicy defines how this DeviceCapacity must be consumed when the device is allowed to be shared by multiple allocations.\n\nThe Device must have allowMultipleAllocations set to true in order to set a requestPolicy.\n\nIf unset, capacity requests are unconstrained: requests can consume any amount of capacity, as long as the total consumed across all allocations does not exceed the device's defined capacity. If request is also unset, default is the full capacity value."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceClaim": {
  "go": "v1.DeviceClaim",
  "d": "DeviceClaim defines how to request devices with a ResourceClaim.",
  "f": [
   {
    "j": "requests",
    "t": "[]@io.k8s.api.resource.v1.DeviceRequest",
    "p": 1,
    "lt": "atomic",
    "d": "Requests represent individual requests for distinct devices which must all be satisfied. If empty, nothing needs to be allocated."
   },
   {
    "j": "constraints",
    "t": "[]@io.k8s.api.resource.v1.DeviceConstraint",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "These constraints must be satisfied by the set of devices that get allocated for the claim."
   },
   {
    "j": "config",
    "t": "[]@io.k8s.api.resource.v1.DeviceClaimConfiguration",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "This field holds configuration for multiple potential drivers which could satisfy requests in this claim. It is ignored while allocating the claim."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceClaimConfiguration": {
  "go": "v1.DeviceClaimConfiguration",
  "d": "DeviceClaimConfiguration is used for configuration parameters in DeviceClaim.",
  "f": [
   {
    "j": "requests",
    "t": "[]string",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "Requests lists the names of requests where the configuration applies. If empty, it applies to all requests.\n\nReferences to subrequests must include the name of the main request and may include the subrequest using the format <main request>[/<subrequest>]. If just the main request is given, the configuration applies to all subrequests."
   },
   {
    "j": "",
    "t": "@io.k8s.api.resource.v1.DeviceConfiguration",
    "p": 2,
    "req": 1
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceClass": {
  "go": "v1.DeviceClass",
  "d": "DeviceClass is a vendor- or admin-provided resource that contains device configuration and selectors. It can be referenced in the device requests of a claim to apply these presets. Cluster scoped.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.resource.v1.DeviceClassSpec",
    "p": 2,
    "d": "Spec defines what can be allocated and how to configure it.\n\nThis is mutable. Consumers have to be prepared for classes changing at any time, either because they get updated or replaced. Claim allocations are done once based on whatever was set in classes at the time of allocation.\n\nChanging the spec automatically increments the metadata.generation number."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceClassConfiguration": {
  "go": "v1.DeviceClassConfiguration",
  "d": "DeviceClassConfiguration is used in DeviceClass.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.api.resource.v1.DeviceConfiguration",
    "p": 1,
    "req": 1
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceClassList": {
  "go": "v1.DeviceClassList",
  "d": "DeviceClassList is a collection of classes.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.resource.v1.DeviceClass",
    "p": 2,
    "req": 1,
    "d": "Items is the list of resource classes."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceClassSpec": {
  "go": "v1.DeviceClassSpec",
  "d": "DeviceClassSpec is used in a [DeviceClass] to define what can be allocated and how to configure it.",
  "f": [
   {
    "j": "selectors",
    "t": "[]@io.k8s.api.resource.v1.DeviceSelector",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "Each selector must be satisfied by a device which is claimed via this class."
   },
   {
    "j": "config",
    "t": "[]@io.k8s.api.resource.v1.DeviceClassConfiguration",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "Config defines configuration parameters that apply to each device that is claimed via this class. Some classses may potentially be satisfied by multiple drivers, so each instance of a vendor configuration applies to exactly one driver.\n\nThey are passed to the driver, but are not considered while allocating the claim."
   },
   {
    "j": "extendedResourceName",
    "t": "*string",
    "o": 1,
    "p": 4,
    "d": "ExtendedResourceName is the extended resource name for the devices of this class. The devices of this class can be used to satisfy a pod's extended resource requests. It has the same format as the name of a pod's extended resource. It should be unique among all the device classes in a cluster. If two device classes have the same name, then the class created later is picked to satisfy a pod's extended resource requests. If two classes are created at the same time, then the name of the class lexicographically sorted first is picked."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceConfiguration": {
  "go": "v1.DeviceConfiguration",
  "d": "DeviceConfiguration must have exactly one field set. It gets embedded inline in some other structs which have other fields, so field names must not conflict with those.",
  "f": [
   {
    "j": "opaque",
    "t": "*@io.k8s.api.resource.v1.OpaqueDeviceConfiguration",
    "o": 1,
    "p": 1,
    "d": "Opaque provides driver-specific configuration parameters."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceConstraint": {
  "go": "v1.DeviceConstraint",
  "d": "DeviceConstraint must have exactly one field set besides Requests.",
  "f": [
   {
    "j": "requests",
    "t": "[]string",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "Requests is a list of the one or more requests in this claim which must co-satisfy this constraint. If a request is fulfilled by multiple devices, then all of the devices must satisfy the constraint. If this is not specified, this constraint applies to all requests in this claim.\n\nReferences to subrequests must include the name of the main request and may include the subrequest using the format <main request>[/<subrequest>]. If just the main request is given, the constraint applies to all subrequests."
   },
   {
    "j": "matchAttribute",
    "t": "*@io.k8s.api.resource.v1.FullyQualifiedName",
    "o": 1,
    "p": 2,
    "d": "MatchAttribute requires that all devices in question have this attribute and that its type and value are the same across those devices.\n\nFor example, if you specified \"dra.example.com/numa\" (a hypothetical example!), then only devices in the same NUMA node will be chosen. A device which does not have that attribute will not be chosen. All devices should use a value of the same type for this attribute because that is part of its specification, but if one device doesn't, then it also will not be chosen.\n\nWhen the DRAListTypeAttributes feature gate is enabled, comparison uses set semantics(i.e., element order and duplicates are ignored): list-valued attributes match when the intersection across all devices is non-empty. Scalar values are treated as single-element lists for backward compatibility.\n\nMust include the domain qualifier."
   },
   {
    "j": "distinctAttribute",
    "t": "*@io.k8s.api.resource.v1.FullyQualifiedName",
    "o": 1,
    "p": 3,
    "d": "DistinctAttribute requires that all devices in question have this attribute and that its type and value are unique across those devices.\n\nWhen the DRAListTypeAttributes feature gate is enabled, comparison uses set semantics (i.e., element order and duplicates are ignored): list-valued attributes must be pairwise disjoint across devices. Scalar values are treated as singleton sets for backward compatibility.\n\nThis acts as the inverse of MatchAttribute.\n\nThis constraint is used to avoid allocating multiple requests to the same device by ensuring attribute-level differentiation.\n\nThis is useful for scenarios where resource requests must be fulfilled by separate physical devices. For example, a container requests two network interfaces that must be allocated from two different physical NICs."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceCounterConsumption": {
  "go": "v1.DeviceCounterConsumption",
  "d": "DeviceCounterConsumption defines a set of counters that a device will consume from a CounterSet.",
  "f": [
   {
    "j": "counterSet",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "CounterSet is the name of the set from which the counters defined will be consumed."
   },
   {
    "j": "counters",
    "t": "map[string]@io.k8s.api.resource.v1.Counter",
    "o": 1,
    "p": 2,
    "req": 1,
    "d": "Counters defines the counters that will be consumed by the device.\n\nThe maximum number of counters is 32."
   },
   {
    "j": "compatibilityGroups",
    "t": "[]string",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "CompatibilityGroups is a list of opaque group names for this counter set consumption.\n\nDevices that consume counters from the same counter set may only be allocated at the same time (\"co-allocated\") if they all share at least one common group: the intersection of the CompatibilityGroups of all co-allocated devices on that counter set must be non-empty. Devices that consume from different counter sets are never compared via this field.\n\nAn unset field, an explicit nil, and an empty list are equivalent and mean \"no groups\": such a device is only co-allocatable with sibling devices on the same counter set that also have no groups, and is never co-allocatable with a device that declares one or more groups.\n\nGroup names are opaque and meaningful only within the publishing driver's pool.\n\nThe maximum number of groups is 2, and the names must be unique."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceDerivedAttribute": {
  "go": "v1.DeviceDerivedAttribute",
  "d": "DeviceDerivedAttribute defines a derived attribute computed via CEL.",
  "f": [
   {
    "j": "name",
    "t": "@io.k8s.api.resource.v1.FullyQualifiedName",
    "p": 1,
    "req": 1,
    "d": "Name is the identifier for this derived attribute, used in constraints.\n\nIt must be a DNS subdomain followed by a slash (\"/\") followed by a C identifier (e.g. \"example.com/numaNode\" or \"derived/numaNode\").\n\nIf the chosen name matches an existing physical attribute from a driver, the derived attribute's expression will shadow the physical attribute, and its evaluated value will be used in constraints instead. When the goal is to define a derived attribute that is only used within the ResourceClaim and not meant to shadow an existing attribute, use a domain prefix that no DRA driver should be using (e.g. \"derived/myAttribute\").\n\nIt is not valid to define a derived attribute that isn't used in at least one constraint."
   },
   {
    "j": "expression",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "Expression is a CEL expression evaluated against each candidate device. The expression must evaluate to a primitive scalar (string, integer, boolean, or semver) or a list of these scalars ([]string, []int64, []bool, []semver) to act as a virtual grouping key. Any other return type is an error and causes CEL evaluation for the device to fail.\n\nThe expression's input is an object named \"device\", which carries the same properties as in a CELDeviceSelector.\n\nWhen pod scheduling encounters CEL runtime errors (such as looking up an attribute that isn't defined) for some devices, it will abort allocation and fail scheduling for the Pod. Surfacing evaluation errors immediately prevents silent topology matching failures that are extremely hard to detect. A robust expression should, for example, check for the existence of attributes before referencing them to avoid runtime evaluation errors.\n\nThe expression gets evaluated after a device has passed the other selector expressions for the request in which this expression is used. This allows writing expressions that are tailored towards the specific devices being requested (for example, by assuming the device is from a certain vendor and skipping those checks).\n\nThe length of the expression must be smaller or equal to 10 Ki. The cost of evaluating it is also limited based on the estimated number of logical steps; the combined cost of all derived attributes in a claim is capped by a shared CEL cost budget."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceRequest": {
  "go": "v1.DeviceRequest",
  "d": "DeviceRequest is a request for devices required for a claim. This is typically a request for a single resource like a device, but can also ask for several identical devices. With FirstAvailable it is also possible to provide a prioritized list of requests.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Name can be used to reference this request in a pod.spec.containers[].resources.claims entry and in a constraint of the claim.\n\nReferences using the name in the DeviceRequest will uniquely identify a request when the Exactly field is set. When the FirstAvailable field is set, a reference to the name of the DeviceRequest will match whatever subrequest is chosen by the scheduler.\n\nMust be a DNS label."
   },
   {
    "j": "exactly",
    "t": "*@io.k8s.api.resource.v1.ExactDeviceRequest",
    "o": 1,
    "p": 2,
    "d": "Exactly specifies the details for a single request that must be met exactly for the request to be satisfied.\n\nOne of Exactly or FirstAvailable must be set."
   },
   {
    "j": "firstAvailable",
    "t": "[]@io.k8s.api.resource.v1.DeviceSubRequest",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "FirstAvailable contains subrequests, of which exactly one will be selected by the scheduler. It tries to satisfy them in the order in which they are listed here. So if there are two entries in the list, the scheduler will only check the second one if it determines that the first one can not be used.\n\nDRA does not yet implement scoring, so the scheduler will select the first set of devices that satisfies all the requests in the claim. And if the requirements can be satisfied on more than one node, other scheduling features will determine which node is chosen. This means that the set of devices allocated to a claim might not be the optimal set available to the cluster. Scoring will be implemented later."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceRequestAllocationResult": {
  "go": "v1.DeviceRequestAllocationResult",
  "d": "DeviceRequestAllocationResult contains the allocation result for one request.",
  "f": [
   {
    "j": "request",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Request is the name of the request in the claim which caused this device to be allocated. If it references a subrequest in the firstAvailable list on a DeviceRequest, this field must include both the name of the main request and the subrequest using the format <main request>/<subrequest>.\n\nMultiple devices may have been allocated per request."
   },
   {
    "j": "driver",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "Driver specifies the name of the DRA driver whose kubelet plugin should be invoked to process the allocation once the claim is needed on a node.\n\nMust be a DNS subdomain and should end with a DNS domain owned by the vendor of the driver. It should use only lower case characters."
   },
   {
    "j": "pool",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "This name together with the driver name and the device name field identify which device was allocated (`<driver name>/<pool name>/<device name>`).\n\nMust not be longer than 253 characters and may contain one or more DNS sub-domains separated by slashes."
   },
   {
    "j": "device",
    "t": "string",
    "p": 4,
    "req": 1,
    "d": "Device references one device instance via its name in the driver's resource pool. It must be a DNS label."
   },
   {
    "j": "adminAccess",
    "t": "*bool",
    "o": 1,
    "p": 5,
    "d": "AdminAccess indicates that this device was allocated for administrative access. See the corresponding request field for a definition of mode.\n\nAdmin access is disabled if this field is unset or set to false, otherwise it is enabled."
   },
   {
    "j": "tolerations",
    "t": "[]@io.k8s.api.resource.v1.DeviceToleration",
    "o": 1,
    "p": 6,
    "lt": "atomic",
    "d": "A copy of all tolerations specified in the request at the time when the device got allocated.\n\nThe maximum number of tolerations is 16.\n\nThis is a beta field and requires enabling the DRADeviceTaints feature gate."
   },
   {
    "j": "bindingConditions",
    "t": "[]string",
    "o": 1,
    "p": 7,
    "lt": "atomic",
    "d": "BindingConditions contains a copy of the BindingConditions from the corresponding ResourceSlice at the time of allocation.\n\nThis is a beta field and requires enabling the DRADeviceBindingConditions and DRAResourceClaimDeviceStatus feature gates."
   },
   {
    "j": "bindingFailureConditions",
    "t": "[]string",
    "o": 1,
    "p": 8,
    "lt": "atomic",
    "d": "BindingFailureConditions contains a copy of the BindingFailureConditions from the corresponding ResourceSlice at the time of allocation.\n\nThis is a beta field and requires enabling the DRADeviceBindingConditions and DRAResourceClaimDeviceStatus feature gates."
   },
   {
    "j": "shareID",
    "t": "*@io.k8s.apimachinery.pkg.types.UID",
    "o": 1,
    "p": 9,
    "d": "ShareID uniquely identifies an individual allocation share of the device, used when the device supports multiple simultaneous allocations. It serves as an additional map key to differentiate concurrent shares of the same device."
   },
   {
    "j": "consumedCapacity",
    "t": "map[string]@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 10,
    "d": "ConsumedCapacity tracks the amount of capacity consumed per device as part of the claim request. The consumed amount may differ from the requested amount: it is rounded up to the nearest valid value based on the device’s requestPolicy if applicable (i.e., may not be less than the requested amount).\n\nThe total consumed capacity for each device must not exceed the DeviceCapacity's Value.\n\nThis field is populated only for devices that allow multiple allocations. All capacity entries are included, even if the consumed amount is zero."
   },
   {
    "j": "skipNodeOperations",
    "t": "[]@io.k8s.api.resource.v1.SkipNodeOperation",
    "o": 1,
    "p": 11,
    "lt": "set",
    "d": "SkipNodeOperations lists node-local resource operations (gRPC calls) that will be skipped for this allocated device when determining whether operations are necessary on the node. If all allocated devices for a driver in a claim skip an operation, that gRPC call will be skipped. It is a copy of the ResourceSlice.spec.skipNodeOperations value at the time when the device was allocated."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceSelector": {
  "go": "v1.DeviceSelector",
  "d": "DeviceSelector must have exactly one field set.",
  "f": [
   {
    "j": "cel",
    "t": "*@io.k8s.api.resource.v1.CELDeviceSelector",
    "o": 1,
    "p": 1,
    "d": "CEL contains a CEL expression for selecting a device."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceSubRequest": {
  "go": "v1.DeviceSubRequest",
  "d": "DeviceSubRequest describes a request for device provided in the claim.spec.devices.requests[].firstAvailable array. Each is typically a request for a single resource like a device, but can also ask for several identical devices.\n\nDeviceSubRequest is similar to ExactDeviceRequest, but doesn't expose the AdminAccess field as that one is only supported when requesting a specific device.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Name can be used to reference this subrequest in the list of constraints or the list of configurations for the claim. References must use the format <main request>/<subrequest>.\n\nMust be a DNS label."
   },
   {
    "j": "deviceClassName",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "DeviceClassName references a specific DeviceClass, which can define additional configuration and selectors to be inherited by this subrequest.\n\nA class is required. Which classes are available depends on the cluster.\n\nAdministrators may use this to restrict which devices may get requested by only installing classes with selectors for permitted devices. If users are free to request anything without restrictions, then administrators can create an empty DeviceClass for users to reference."
   },
   {
    "j": "selectors",
    "t": "[]@io.k8s.api.resource.v1.DeviceSelector",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "Selectors define criteria which must be satisfied by a specific device in order for that device to be considered for this subrequest. All selectors must be satisfied for a device to be considered."
   },
   {
    "j": "allocationMode",
    "t": "@io.k8s.api.resource.v1.DeviceAllocationMode",
    "o": 1,
    "p": 4,
    "d": "AllocationMode and its related fields define how devices are allocated to satisfy this subrequest. Supported values are:\n\n- ExactCount: This request is for a specific number of devices.\n  This is the default. The exact number is provided in the\n  count field.\n\n- All: This subrequest is for all of the matching devices in a pool.\n  Allocation will fail if some devices are already allocated,\n  unless adminAccess is requested.\n\nIf AllocationMode is not specified, the default mode is ExactCount. If the mode is ExactCount and count is not specified, the default count is one. Any other subrequests must specify this field.\n\nMore modes may get added in the future. Clients must refuse to handle requests with unknown modes."
   },
   {
    "j": "count",
    "t": "int64",
    "o": 1,
    "p": 5,
    "d": "Count is used only when the count mode is \"ExactCount\". Must be greater than zero. If AllocationMode is ExactCount and this field is not specified, the default is one."
   },
   {
    "j": "tolerations",
    "t": "[]@io.k8s.api.resource.v1.DeviceToleration",
    "o": 1,
    "p": 6,
    "lt": "atomic",
    "d": "If specified, the request's tolerations.\n\nTolerations for NoSchedule are required to allocate a device which has a taint with that effect. The same applies to NoExecute.\n\nIn addition, should any of the allocated devices get tainted with NoExecute after allocation and that effect is not tolerated, then all pods consuming the ResourceClaim get deleted to evict them. The scheduler will not let new pods reserve the claim while it has these tainted devices. Once all pods are evicted, the claim will get deallocated.\n\nThe maximum number of tolerations is 16.\n\nThis is a beta field and requires enabling the DRADeviceTaints feature gate."
   },
   {
    "j": "capacity",
    "t": "*@io.k8s.api.resource.v1.CapacityRequirements",
    "o": 1,
    "p": 7,
    "d": "Capacity define resource requirements against each capacity.\n\nIf this field is unset and the device supports multiple allocations, the default value will be applied to each capacity according to requestPolicy. For the capacity that has no requestPolicy, default is the full capacity value.\n\nApplies to each device allocation. If Count > 1, the request fails if there aren't enough devices that meet the requirements. If AllocationMode is set to All, the request fails if there are devices that otherwise match the request, and have this capacity, with a value >= the requested amount, but which cannot be allocated to this request."
   },
   {
    "j": "derivedAttributes",
    "t": "[]@io.k8s.api.resource.v1.DeviceDerivedAttribute",
    "o": 1,
    "p": 8,
    "lt": "atomic",
    "d": "DerivedAttributes defines a set of virtual attributes computed via CEL expressions for each candidate device. These virtual attributes can be referenced in `.devices.constraints` to align and match different devices (e.g., co-allocating a GPU and a NIC on the same NUMA node) even if their drivers publish different attributes. Derived attributes are not available via `device.attributes` in the CEL environment when evaluating selector expressions.\n\nDerived attributes allow you to extract, transform, or normalize topology information (such as extracting a NUMA index from a complex topology string or renaming a vendor-specific attribute) into a common virtual attribute name at scheduling time. The scheduler then evaluates these virtual attributes exactly like static attributes when matching constraints.\n\nEvery derived attribute defined in this list must be referenced by at least one MatchAttribute or DistinctAttribute constraint in the `.devices.constraints` list.\n\nThe maximum number of derived attributes is 32.\n\nThis is an alpha field and requires enabling the DRADerivedAttributes feature gate."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceTaint": {
  "go": "v1.DeviceTaint",
  "d": "The device this taint is attached to has the \"effect\" on any claim which does not tolerate the taint and, through the claim, to pods using the claim.",
  "f": [
   {
    "j": "key",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "The taint key to be applied to a device. Must be a label name."
   },
   {
    "j": "value",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "The taint value corresponding to the taint key. Must be a label value."
   },
   {
    "j": "effect",
    "t": "@io.k8s.api.resource.v1.DeviceTaintEffect",
    "p": 3,
    "req": 1,
    "d": "The effect of the taint on claims that do not tolerate the taint and through such claims on the pods using them.\n\nValid effects are None, NoSchedule and NoExecute. PreferNoSchedule as used for nodes is not valid here. More effects may get added in the future. Consumers must treat unknown effects like None."
   },
   {
    "j": "timeAdded",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 4,
    "d": "TimeAdded represents the time at which the taint was added or (only in a DeviceTaintRule) the effect was modified. Added automatically during create or update if not set.\n\nIn addition, in a DeviceTaintRule a value provided during an update gets replaced with the current time if the provided value is the same as the old one and the new effect is different. Changing the key and/or value while keeping the effect unchanged is possible and does not update the time stamp because the eviction which uses it is either already started (NoExecute) or not started yet (NoEffect, NoSchedule)."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceTaintEffect": {
  "go": "v1.DeviceTaintEffect",
  "u": "string"
 },
 "io.k8s.api.resource.v1.DeviceToleration": {
  "go": "v1.DeviceToleration",
  "d": "The ResourceClaim this DeviceToleration is attached to tolerates any taint that matches the triple <key,value,effect> using the matching operator <operator>.",
  "f": [
   {
    "j": "key",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Key is the taint key that the toleration applies to. Empty means match all taint keys. If the key is empty, operator must be Exists; this combination means to match all values and all keys. Must be a label name."
   },
   {
    "j": "operator",
    "t": "@io.k8s.api.resource.v1.DeviceTolerationOperator",
    "o": 1,
    "p": 2,
    "def": "\"Equal\"",
    "d": "Operator represents a key's relationship to the value. Valid operators are Exists and Equal. Defaults to Equal. Exists is equivalent to wildcard for value, so that a ResourceClaim can tolerate all taints of a particular category."
   },
   {
    "j": "value",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "Value is the taint value the toleration matches to. If the operator is Exists, the value must be empty, otherwise just a regular string. Must be a label value."
   },
   {
    "j": "effect",
    "t": "@io.k8s.api.resource.v1.DeviceTaintEffect",
    "o": 1,
    "p": 4,
    "d": "Effect indicates the taint effect to match. Empty means match all taint effects. When specified, allowed values are NoSchedule and NoExecute."
   },
   {
    "j": "tolerationSeconds",
    "t": "*int64",
    "o": 1,
    "p": 5,
    "d": "TolerationSeconds represents the period of time the toleration (which must be of effect NoExecute, otherwise this field is ignored) tolerates the taint. By default, it is not set, which means tolerate the taint forever (do not evict). Zero and negative values will be treated as 0 (evict immediately) by the system. If larger than zero, the time when the pod needs to be evicted is calculated as <time when taint was adedd> + <toleration seconds>."
   }
  ]
 },
 "io.k8s.api.resource.v1.DeviceTolerationOperator": {
  "go": "v1.DeviceTolerationOperator",
  "u": "string"
 },
 "io.k8s.api.resource.v1.ExactDeviceRequest": {
  "go": "v1.ExactDeviceRequest",
  "d": "ExactDeviceRequest is a request for one or more identical devices.",
  "f": [
   {
    "j": "deviceClassName",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "DeviceClassName references a specific DeviceClass, which can define additional configuration and selectors to be inherited by this request.\n\nA DeviceClassName is required.\n\nAdministrators may use this to restrict which devices may get requested by only installing classes with selectors for permitted devices. If users are free to request anything without restrictions, then administrators can create an empty DeviceClass for users to reference."
   },
   {
    "j": "selectors",
    "t": "[]@io.k8s.api.resource.v1.DeviceSelector",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "Selectors define criteria which must be satisfied by a specific device in order for that device to be considered for this request. All selectors must be satisfied for a device to be considered."
   },
   {
    "j": "allocationMode",
    "t": "@io.k8s.api.resource.v1.DeviceAllocationMode",
    "o": 1,
    "p": 3,
    "d": "AllocationMode and its related fields define how devices are allocated to satisfy this request. Supported values are:\n\n- ExactCount: This request is for a specific number of devices.\n  This is the default. The exact number is provided in the\n  count field.\n\n- All: This request is for all of the matching devices in a pool.\n  At least one device must exist on the node for the allocation to succeed.\n  Allocation will fail if some devices are already allocated,\n  unless adminAccess is requested.\n\nIf AllocationMode is not specified, the default mode is ExactCount. If the mode is ExactCount and count is not specified, the default count is one. Any other requests must specify this field.\n\nMore modes may get added in the future. Clients must refuse to handle requests with unknown modes."
   },
   {
    "j": "count",
    "t": "int64",
    "o": 1,
    "p": 4,
    "d": "Count is used only when the count mode is \"ExactCount\". Must be greater than zero. If AllocationMode is ExactCount and this field is not specified, the default is one."
   },
   {
    "j": "adminAccess",
    "t": "*bool",
    "o": 1,
    "p": 5,
    "d": "AdminAccess indicates that this is a claim for administrative access to the device(s). Claims with AdminAccess are expected to be used for monitoring or other management services for a device.  They ignore all ordinary claims to the device with respect to access modes and any resource allocations.\n\nAdmin access is disabled if this field is unset or set to false, otherwise it is enabled."
   },
   {
    "j": "tolerations",
    "t": "[]@io.k8s.api.resource.v1.DeviceToleration",
    "o": 1,
    "p": 6,
    "lt": "atomic",
    "d": "If specified, the request's tolerations.\n\nTolerations for NoSchedule are required to allocate a device which has a taint with that effect. The same applies to NoExecute.\n\nIn addition, should any of the allocated devices get tainted with NoExecute after allocation and that effect is not tolerated, then all pods consuming the ResourceClaim get deleted to evict them. The scheduler will not let new pods reserve the claim while it has these tainted devices. Once all pods are evicted, the claim will get deallocated.\n\nThe maximum number of tolerations is 16.\n\nThis is a beta field and requires enabling the DRADeviceTaints feature gate."
   },
   {
    "j": "capacity",
    "t": "*@io.k8s.api.resource.v1.CapacityRequirements",
    "o": 1,
    "p": 7,
    "d": "Capacity define resource requirements against each capacity.\n\nIf this field is unset and the device supports multiple allocations, the default value will be applied to each capacity according to requestPolicy. For the capacity that has no requestPolicy, default is the full capacity value.\n\nApplies to each device allocation. If Count > 1, the request fails if there aren't enough devices that meet the requirements. If AllocationMode is set to All, the request fails if there are devices that otherwise match the request, and have this capacity, with a value >= the requested amount, but which cannot be allocated to this request."
   },
   {
    "j": "derivedAttributes",
    "t": "[]@io.k8s.api.resource.v1.DeviceDerivedAttribute",
    "o": 1,
    "p": 8,
    "lt": "atomic",
    "d": "DerivedAttributes defines a set of virtual attributes computed via CEL expressions for each candidate device. These virtual attributes can be referenced in `.devices.constraints` to align and match different devices (e.g., co-allocating a GPU and a NIC on the same NUMA node) even if their drivers publish different attributes. Derived attributes are not available via `device.attributes` in the CEL environment when evaluating selector expressions.\n\nDerived attributes allow you to extract, transform, or normalize topology information (such as extracting a NUMA index from a complex topology string or renaming a vendor-specific attribute) into a common virtual attribute name at scheduling time. The scheduler then evaluates these virtual attributes exactly like static attributes when matching constraints.\n\nEvery derived attribute defined in this list must be referenced by at least one MatchAttribute or DistinctAttribute constraint in the `.devices.constraints` list.\n\nThe maximum number of derived attributes is 32.\n\nThis is an alpha field and requires enabling the DRADerivedAttributes feature gate."
   }
  ]
 },
 "io.k8s.api.resource.v1.FullyQualifiedName": {
  "go": "v1.FullyQualifiedName",
  "u": "string"
 },
 "io.k8s.api.resource.v1.NetworkDeviceData": {
  "go": "v1.NetworkDeviceData",
  "d": "NetworkDeviceData provides network-related details for the allocated device. This information may be filled by drivers or other components to configure or identify the device within a network context.",
  "f": [
   {
    "j": "interfaceName",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "InterfaceName specifies the name of the network interface associated with the allocated device. This might be the name of a physical or virtual network interface being configured in the pod.\n\nMust not be longer than 256 bytes."
   },
   {
    "j": "ips",
    "t": "[]string",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "IPs lists the network addresses assigned to the device's network interface. This can include both IPv4 and IPv6 addresses. The IPs are in the CIDR notation, which includes both the address and the associated subnet mask. e.g.: \"192.0.2.5/24\" for IPv4 and \"2001:db8::5/64\" for IPv6."
   },
   {
    "j": "hardwareAddress",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "HardwareAddress represents the hardware address (e.g. MAC Address) of the device's network interface.\n\nMust not be longer than 128 bytes."
   }
  ]
 },
 "io.k8s.api.resource.v1.NodeAllocatableMapping": {
  "go": "v1.NodeAllocatableMapping",
  "d": "NodeAllocatableMapping defines how a DRA allocation directly translates into a node allocatable resource quantity. The mapping can be derived from either the count of allocated devices (via deviceMultiplier) or the specific capacity consumed (via capacityKey and capacityMultiplier). These options are mutually exclusive. Kubelet adds this mapped resource quantity from claim to both requests and limits at the pod-level cgroup, and to limits at the container-level cgroup for each container referencing the claim.",
  "f": [
   {
    "j": "capacityKey",
    "t": "*@io.k8s.api.resource.v1.QualifiedName",
    "o": 1,
    "p": 1,
    "d": "CapacityKey references a capacity name defined as a key in the `spec.devices[*].capacity` map. When this field is set, the value associated with this key in the `status.allocation.devices.results[*].consumedCapacity` map (for a specific claim allocation) determines the base quantity for the node allocatable resource. `capacityMultiplier` must also be set and is multiplied with the base quantity. For example, if `spec.devices[*].capacity` has an entry \"dra.example.com/memory\": \"128Gi\", and this field is set to \"dra.example.com/memory\", then for a claim allocation that consumes { \"dra.example.com/memory\": \"4Gi\" } the base quantity for the node allocatable resource mapping will be \"4Gi\". The final node allocatable resource amount is `consumedCapacity[capacityKey]` * `capacityMultiplier`."
   },
   {
    "j": "capacityMultiplier",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 2,
    "d": "CapacityMultiplier is used as a multiplier for the allocated capacity consumed. It is only valid if `capacityKey` is set. The final node allocatable resource amount is `consumedCapacity[capacityKey]` * `capacityMultiplier`. For example, if a Device's capacity \"dra.example.com/cores\" is consumed, and each \"core\" provides 2 \"cpu\"s, the mapping would be: {ResourceName: \"cpu\", capacityKey: \"dra.example.com/cores\", capacityMultiplier: \"2\"}. If a claim consumes 8 \"dra.example.com/cores\", the CPU footprint is 8 * 2 = 16."
   },
   {
    "j": "deviceMultiplier",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 3,
    "d": "DeviceMultiplier is used as a multiplier for the allocated device count in the claim. The final node allocatable resource amount is `deviceCount` * `deviceMultiplier`. For example, a DRA driver representing each cache complex (CCX) as a device would have {ResourceName: \"cpu\", deviceMultiplier: \"8\"} in its `nodeAllocatableResources`. If 2 devices (CCX) are allocated to the claim, 2 * 8 = 16 CPUs would be considered as allocated. It is only valid when `capacityKey` and `capacityMultiplier` are not set."
   }
  ]
 },
 "io.k8s.api.resource.v1.NodeAllocatableOverhead": {
  "go": "v1.NodeAllocatableOverhead",
  "d": "NodeAllocatableOverhead defines auxiliary resource overheads incurred when allocating a device. Overheads can be specified as a fixed cost per pod referencing the claim, a variable cost per container reference, or both. Kubelet accounts for this overhead by adding it to both the pod-level and container-level cgroups of referencing containers.",
  "f": [
   {
    "j": "perPod",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 1,
    "d": "PerPod is overhead applied once per pod referencing the claim on this node. This is a flat overhead incurred for every pod referencing the claim."
   },
   {
    "j": "perContainer",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 2,
    "d": "PerContainer is applied per container reference to the claim. This models overhead scaling linearly with the number of containers actively using the device. When both PerPod and PerContainer are specified, the total overhead allocated for each pod referencing the claim is computed as: Quantity = PerPod + (PerContainer * NumReferences) Kubelet accounts for this overhead in cgroups: - Pod-level cgroup (requests and limits): Kubelet adds PerPod + (PerContainer * NumReferences). - Container-level cgroup (limits only): Kubelet adds PerPod + PerContainer for each referencing container. This allows any single container to access the pod-level overhead, while the parent cgroup caps the total usage to account for PerPod exactly once."
   }
  ]
 },
 "io.k8s.api.resource.v1.NodeAllocatableResource": {
  "go": "v1.NodeAllocatableResource",
  "d": "NodeAllocatableResource defines the translation between the DRA device/capacity units requested to the corresponding quantity of the node allocatable resource. At least one of Mapping or Overhead must be specified. Not specifying either is an invalid configuration.",
  "f": [
   {
    "j": "mapping",
    "t": "*@io.k8s.api.resource.v1.NodeAllocatableMapping",
    "o": 1,
    "p": 3,
    "d": "Mapping is used when the device directly models a node allocatable resource like standard CPU or memory (e.g., with a CPU DRA driver). The calculated quantity is accounted for exactly once per claim instance on the node. To prevent node cgroup isolation friction, the scheduler explicitly blocks sharing mapped device claims across multiple pods."
   },
   {
    "j": "overhead",
    "t": "*@io.k8s.api.resource.v1.NodeAllocatableOverhead",
    "o": 1,
    "p": 4,
    "d": "Overhead contains fields for modeling auxiliary overhead incurred on node allocatable resources when allocating devices that are not themselves modeling a node allocatable resource (e.g., host memory overhead for GPUs). Sharing overhead-mapped claims across multiple pods is allowed. The node allocatable overhead is accounted for individually for each pod referencing the claim. Overhead is always subtracted from the node's allocatable capacity for the resource, even when mapping is specified for the same resource. Eg: If a device models memory capacity per socket as a consumable capacity pool via Mapping (with CapacityKey), any overhead specified for the same resource will be subtracted from the node's general allocatable capacity and not from the per-socket capacity pool in Mapping."
   }
  ]
 },
 "io.k8s.api.resource.v1.OpaqueDeviceConfiguration": {
  "go": "v1.OpaqueDeviceConfiguration",
  "d": "OpaqueDeviceConfiguration contains configuration parameters for a driver in a format defined by the driver vendor.",
  "f": [
   {
    "j": "driver",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Driver is used to determine which kubelet plugin needs to be passed these configuration parameters.\n\nAn admission policy provided by the driver developer could use this to decide whether it needs to validate them.\n\nMust be a DNS subdomain and should end with a DNS domain owned by the vendor of the driver. It should use only lower case characters."
   },
   {
    "j": "parameters",
    "t": "@io.k8s.apimachinery.pkg.runtime.RawExtension",
    "p": 2,
    "req": 1,
    "d": "Parameters can contain arbitrary data. It is the responsibility of the driver developer to handle validation and versioning. Typically this includes self-identification and a version (\"kind\" + \"apiVersion\" for Kubernetes types), with conversion between different versions.\n\nThe length of the raw data must be smaller or equal to 10 Ki."
   }
  ]
 },
 "io.k8s.api.resource.v1.QualifiedName": {
  "go": "v1.QualifiedName",
  "u": "string"
 },
 "io.k8s.api.resource.v1.ResourceClaim": {
  "go": "v1.ResourceClaim",
  "d": "ResourceClaim describes a request for access to resources in the cluster, for use by workloads. For example, if a workload needs an accelerator device with specific properties, this is how that request is expressed. The status stanza tracks whether this claim has been satisfied and what specific resources have been allocated.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.resource.v1.ResourceClaimSpec",
    "p": 2,
    "d": "Spec describes what is being requested and how to configure it. The spec is immutable."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.resource.v1.ResourceClaimStatus",
    "o": 1,
    "p": 3,
    "d": "Status describes whether the claim is ready to use and what has been allocated."
   }
  ]
 },
 "io.k8s.api.resource.v1.ResourceClaimConsumerReference": {
  "go": "v1.ResourceClaimConsumerReference",
  "d": "ResourceClaimConsumerReference contains enough information to let you locate the consumer of a ResourceClaim. The user must be a resource in the same namespace as the ResourceClaim.",
  "f": [
   {
    "j": "apiGroup",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "APIGroup is the group for the resource being referenced. It is empty for the core API. This matches the group in the APIVersion that is used when creating the resources."
   },
   {
    "j": "resource",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "Resource is the type of resource being referenced, for example \"pods\"."
   },
   {
    "j": "name",
    "t": "string",
    "p": 4,
    "req": 1,
    "d": "Name is the name of resource being referenced."
   },
   {
    "j": "uid",
    "t": "@io.k8s.apimachinery.pkg.types.UID",
    "p": 5,
    "req": 1,
    "d": "UID identifies exactly one incarnation of the resource."
   }
  ]
 },
 "io.k8s.api.resource.v1.ResourceClaimList": {
  "go": "v1.ResourceClaimList",
  "d": "ResourceClaimList is a collection of claims.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.resource.v1.ResourceClaim",
    "p": 2,
    "req": 1,
    "d": "Items is the list of resource claims."
   }
  ]
 },
 "io.k8s.api.resource.v1.ResourceClaimSpec": {
  "go": "v1.ResourceClaimSpec",
  "d": "ResourceClaimSpec defines what is being requested in a ResourceClaim and how to configure it.",
  "f": [
   {
    "j": "devices",
    "t": "@io.k8s.api.resource.v1.DeviceClaim",
    "p": 1,
    "d": "Devices defines how to request devices."
   }
  ]
 },
 "io.k8s.api.resource.v1.ResourceClaimStatus": {
  "go": "v1.ResourceClaimStatus",
  "d": "ResourceClaimStatus tracks whether the resource has been allocated and what the result of that was.",
  "f": [
   {
    "j": "allocation",
    "t": "*@io.k8s.api.resource.v1.AllocationResult",
    "o": 1,
    "p": 1,
    "d": "Allocation is set once the claim has been allocated successfully."
   },
   {
    "j": "reservedFor",
    "t": "[]@io.k8s.api.resource.v1.ResourceClaimConsumerReference",
    "o": 1,
    "p": 2,
    "ps": "merge",
    "pk": "uid",
    "lt": "map",
    "lk": [
     "uid"
    ],
    "d": "ReservedFor indicates which entities are currently allowed to use the claim. A Pod which references a ResourceClaim which is not reserved for that Pod will not be started. A claim that is in use or might be in use because it has been reserved must not get deallocated.\n\nIn a cluster with multiple scheduler instances, two pods might get scheduled concurrently by different schedulers. When they reference the same ResourceClaim which already has reached its maximum number of consumers, only one pod can be scheduled.\n\nBoth schedulers try to add their pod to the claim.status.reservedFor field, but only the update that reaches the API server first gets stored. The other one fails with an error and the scheduler which issued it knows that it must put the pod back into the queue, waiting for the ResourceClaim to become usable again.\n\nThere can be at most 256 such reservations. This may get increased in the future, but not reduced."
   },
   {
    "j": "devices",
    "t": "[]@io.k8s.api.resource.v1.AllocatedDeviceStatus",
    "o": 1,
    "p": 4,
    "lt": "map",
    "lk": [
     "driver",
     "device",
     "pool",
     "shareID"
    ],
    "d": "Devices contains the status of each device allocated for this claim, as reported by the driver. This can include driver-specific information. Entries are owned by their respective drivers."
   }
  ]
 },
 "io.k8s.api.resource.v1.ResourceClaimTemplate": {
  "go": "v1.ResourceClaimTemplate",
  "d": "ResourceClaimTemplate is used to produce ResourceClaim objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.resource.v1.ResourceClaimTemplateSpec",
    "p": 2,
    "d": "Describes the ResourceClaim that is to be generated.\n\nThis field is immutable. A ResourceClaim will get created by the control plane for a Pod when needed and then not get updated anymore."
   }
  ]
 },
 "io.k8s.api.resource.v1.ResourceClaimTemplateList": {
  "go": "v1.ResourceClaimTemplateList",
  "d": "ResourceClaimTemplateList is a collection of claim templates.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.resource.v1.ResourceClaimTemplate",
    "p": 2,
    "req": 1,
    "d": "Items is the list of resource claim templates."
   }
  ]
 },
 "io.k8s.api.resource.v1.ResourceClaimTemplateSpec": {
  "go": "v1.ResourceClaimTemplateSpec",
  "d": "ResourceClaimTemplateSpec contains the metadata and fields for a ResourceClaim.",
  "f": [
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "ObjectMeta may contain labels and annotations that will be copied into the ResourceClaim when creating it. No other fields are allowed and will be rejected during validation."
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.resource.v1.ResourceClaimSpec",
    "p": 2,
    "d": "Spec for the ResourceClaim. The entire content is copied unchanged into the ResourceClaim that gets created from this template. The same fields as in a ResourceClaim are also valid here."
   }
  ]
 },
 "io.k8s.api.resource.v1.ResourcePool": {
  "go": "v1.ResourcePool",
  "d": "ResourcePool describes the pool that ResourceSlices belong to.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Name is used to identify the pool. For node-local devices, this is often the node name, but this is not required. A field selector can be used to list only ResourceSlice objects belonging to a certain pool.\n\nIt must not be longer than 253 characters and must consist of one or more DNS sub-domains separated by slashes. This field is immutable."
   },
   {
    "j": "generation",
    "t": "int64",
    "p": 2,
    "req": 1,
    "d": "Generation tracks the change in a pool over time. Whenever a driver changes something about one or more of the resources in a pool, it must change the generation in all ResourceSlices which are part of that pool. Consumers of ResourceSlices should only consider resources from the pool with the highest generation number. The generation may be reset by drivers, which should be fine for consumers, assuming that all ResourceSlices in a pool are updated to match or deleted.\n\nCombined with ResourceSliceCount, this mechanism enables consumers to detect pools which are comprised of multiple ResourceSlices and are in an incomplete state."
   },
   {
    "j": "resourceSliceCount",
    "t": "int64",
    "p": 3,
    "req": 1,
    "d": "ResourceSliceCount is the total number of ResourceSlices in the pool at this generation number. Must be greater than zero.\n\nConsumers can use this to check whether they have seen all ResourceSlices belonging to the same pool."
   }
  ]
 },
 "io.k8s.api.resource.v1.ResourceSlice": {
  "go": "v1.ResourceSlice",
  "d": "ResourceSlice represents one or more resources in a pool of similar resources, managed by a common driver. A pool may span more than one ResourceSlice, and exactly how many ResourceSlices comprise a pool is determined by the driver.\n\nAt the moment, the only supported resources are devices with attributes and capacities. Each device in a given pool, regardless of how many ResourceSlices, must have a unique name. The ResourceSlice in which a device gets published may change over time. The unique identifier for a device is the tuple <driver name>, <pool name>, <device name>.\n\nWhenever a driver needs to update a pool, it increments the pool.Spec.Pool.Generation number and updates all ResourceSlices with that new number and new resource definitions. A consumer must only use ResourceSlices with the highest generation number and ignore all others.\n\nWhen allocating all resources in a pool matching certain criteria or when looking for the best solution among several different alternatives, a consumer should check the number of ResourceSlices in a pool (included in each ResourceSlice) to determine whether its view of a pool is complete and if not, should wait until the driver has completed updating the pool.\n\nFor resources that are not local to a node, the node name is not set. Instead, the driver may use a node selector to specify where the devices are available.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.resource.v1.ResourceSliceSpec",
    "p": 2,
    "req": 1,
    "d": "Contains the information published by the driver.\n\nChanging the spec automatically increments the metadata.generation number."
   }
  ]
 },
 "io.k8s.api.resource.v1.ResourceSliceList": {
  "go": "v1.ResourceSliceList",
  "d": "ResourceSliceList is a collection of ResourceSlices.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.resource.v1.ResourceSlice",
    "p": 2,
    "req": 1,
    "d": "Items is the list of resource ResourceSlices."
   }
  ]
 },
 "io.k8s.api.resource.v1.ResourceSliceSpec": {
  "go": "v1.ResourceSliceSpec",
  "d": "ResourceSliceSpec contains the information published by the driver in one ResourceSlice.",
  "f": [
   {
    "j": "driver",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Driver identifies the DRA driver providing the capacity information. A field selector can be used to list only ResourceSlice objects with a certain driver name.\n\nMust be a DNS subdomain and should end with a DNS domain owned by the vendor of the driver. It should use only lower case characters. This field is immutable."
   },
   {
    "j": "pool",
    "t": "@io.k8s.api.resource.v1.ResourcePool",
    "p": 2,
    "req": 1,
    "d": "Pool describes the pool that this ResourceSlice belongs to."
   },
   {
    "j": "nodeName",
    "t": "*string",
    "o": 1,
    "p": 3,
    "d": "NodeName identifies the node which provides the resources in this pool. A field selector can be used to list only ResourceSlice objects belonging to a certain node.\n\nThis field can be used to limit access from nodes to ResourceSlices with the same node name. It also indicates to autoscalers that adding new nodes of the same type as some old node might also make new resources available.\n\nExactly one of NodeName, NodeSelector, AllNodes, and PerDeviceNodeSelection must be set. This field is immutable."
   },
   {
    "j": "nodeSelector",
    "t": "*@io.k8s.api.core.v1.NodeSelector",
    "o": 1,
    "p": 4,
    "d": "NodeSelector defines which nodes have access to the resources in the pool, when that pool is not limited to a single node.\n\nMust use exactly one term.\n\nExactly one of NodeName, NodeSelector, AllNodes, and PerDeviceNodeSelection must be set."
   },
   {
    "j": "allNodes",
    "t": "*bool",
    "o": 1,
    "p": 5,
    "d": "AllNodes indicates that all nodes have access to the resources in the pool.\n\nExactly one of NodeName, NodeSelector, AllNodes, and PerDeviceNodeSelection must be set."
   },
   {
    "j": "devices",
    "t": "[]@io.k8s.api.resource.v1.Device",
    "o": 1,
    "p": 6,
    "lt": "atomic",
    "d": "Devices lists some or all of the devices in this pool.\n\nMust not have more than 128 entries. If any device uses taints or consumes counters the limit is 64.\n\nOnly one of Devices and SharedCounters can be set in a ResourceSlice."
   },
   {
    "j": "perDeviceNodeSelection",
    "t": "*bool",
    "o": 1,
    "p": 7,
    "d": "PerDeviceNodeSelection defines whether the access from nodes to resources in the pool is set on the ResourceSlice level or on each device. If it is set to true, every device defined the ResourceSlice must specify this individually.\n\nExactly one of NodeName, NodeSelector, AllNodes, and PerDeviceNodeSelection must be set."
   },
   {
    "j": "sharedCounters",
    "t": "[]@io.k8s.api.resource.v1.CounterSet",
    "o": 1,
    "p": 8,
    "lt": "atomic",
    "d": "SharedCounters defines a list of counter sets, each of which has a name and a list of counters available.\n\nThe names of the counter sets must be unique in the ResourcePool.\n\nOnly one of Devices and SharedCounters can be set in a ResourceSlice.\n\nThe maximum number of counter sets is 8."
   },
   {
    "j": "partitionTypeAttribute",
    "t": "*@io.k8s.api.resource.v1.FullyQualifiedName",
    "o": 1,
    "p": 9,
    "d": "PartitionTypeAttribute names a string device attribute (by fully qualified name, e.g. \"gpu.example.com/profile\") whose value labels each device with its partition type, such as \"Full\" or \"Half\" for a MIG-style GPU.\n\nWhen set, every partitionable device in the slice must carry the attribute and devices sharing a value must share the same ConsumesCounters cost."
   },
   {
    "j": "skipNodeOperations",
    "t": "[]@io.k8s.api.resource.v1.SkipNodeOperation",
    "o": 1,
    "p": 10,
    "lt": "set",
    "d": "SkipNodeOperations lists node-local resource operations (gRPC calls) that will be skipped for the devices in this slice when determining whether operations are necessary on the node. If all allocated devices for a driver in a claim skip an operation, that gRPC call will be skipped. Valid values are:\n\n- \"NodePrepareResources\": NodePrepareResources gRPC calls are skipped. This\n  value cannot be specified unless \"NodeUnprepareResources\" is also listed\n  (or \"*\" is specified).\n- \"NodeUnprepareResources\": NodeUnprepareResources gRPC calls are skipped. - \"*\": All node-local resource operations are skipped.\n\nOther values may be added in the future. The kubelet must ignore unknown values."
   }
  ]
 },
 "io.k8s.api.resource.v1.SkipNodeOperation": {
  "go": "v1.SkipNodeOperation",
  "u": "string"
 },
 "io.k8s.api.scheduling.v1.PriorityClass": {
  "go": "v1.PriorityClass",
  "d": "PriorityClass defines mapping from a priority class name to the priority integer value. The value can be any valid integer.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "value",
    "t": "int32",
    "p": 2,
    "d": "value represents the integer value of this priority class. This is the actual priority that pods receive when they have the name of this class in their pod spec."
   },
   {
    "j": "globalDefault",
    "t": "bool",
    "o": 1,
    "p": 3,
    "d": "globalDefault specifies whether this PriorityClass should be considered as the default priority for pods that do not have any priority class. Only one PriorityClass can be marked as `globalDefault`. However, if more than one PriorityClasses exists with their `globalDefault` field set to true, the smallest value of such global default PriorityClasses will be used as the default priority."
   },
   {
    "j": "description",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "description is an arbitrary string that usually provides guidelines on when this priority class should be used."
   },
   {
    "j": "preemptionPolicy",
    "t": "*@io.k8s.api.core.v1.PreemptionPolicy",
    "o": 1,
    "p": 5,
    "d": "preemptionPolicy is the Policy for preempting pods with lower priority. One of Never, PreemptLowerPriority. Defaults to PreemptLowerPriority if unset."
   }
  ]
 },
 "io.k8s.api.scheduling.v1.PriorityClassList": {
  "go": "v1.PriorityClassList",
  "d": "PriorityClassList is a collection of priority classes.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.scheduling.v1.PriorityClass",
    "p": 2,
    "req": 1,
    "d": "items is the list of PriorityClasses"
   }
  ]
 },
 "io.k8s.api.storage.v1.CSIDriver": {
  "go": "v1.CSIDriver",
  "d": "CSIDriver captures information about a Container Storage Interface (CSI) volume driver deployed on the cluster. Kubernetes attach detach controller uses this object to determine whether attach is required. Kubelet uses this object to determine whether pod information needs to be passed on mount. CSIDriver objects are non-namespaced.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata. metadata.Name indicates the name of the CSI driver that this object refers to; it MUST be the same name returned by the CSI GetPluginName() call for that driver. The driver name must be 63 characters or less, beginning and ending with an alphanumeric character ([a-z0-9A-Z]) with dashes (-), dots (.), and alphanumerics between. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.storage.v1.CSIDriverSpec",
    "p": 2,
    "req": 1,
    "d": "spec represents the specification of the CSI Driver."
   }
  ]
 },
 "io.k8s.api.storage.v1.CSIDriverList": {
  "go": "v1.CSIDriverList",
  "d": "CSIDriverList is a collection of CSIDriver objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.storage.v1.CSIDriver",
    "p": 2,
    "req": 1,
    "d": "items is the list of CSIDriver"
   }
  ]
 },
 "io.k8s.api.storage.v1.CSIDriverSpec": {
  "go": "v1.CSIDriverSpec",
  "d": "CSIDriverSpec is the specification of a CSIDriver.",
  "f": [
   {
    "j": "attachRequired",
    "t": "*bool",
    "o": 1,
    "p": 1,
    "d": "attachRequired indicates this CSI volume driver requires an attach operation (because it implements the CSI ControllerPublishVolume() method), and that the Kubernetes attach detach controller should call the attach volume interface which checks the volumeattachment status and waits until the volume is attached before proceeding to mounting. The CSI external-attacher coordinates with CSI volume driver and updates the volumeattachment status when the attach operation is complete. If the value is specified to false, the attach operation will be skipped. Otherwise the attach operation will be called.\n\nThis field is immutable."
   },
   {
    "j": "podInfoOnMount",
    "t": "*bool",
    "o": 1,
    "p": 2,
    "d": "podInfoOnMount indicates this CSI volume driver requires additional pod information (like podName, podUID, etc.) during mount operations, if set to true. If set to false, pod information will not be passed on mount. Default is false.\n\nThe CSI driver specifies podInfoOnMount as part of driver deployment. If true, Kubelet will pass pod information as VolumeContext in the CSI NodePublishVolume() calls. The CSI driver is responsible for parsing and validating the information passed in as VolumeContext.\n\nThe following VolumeContext will be passed if podInfoOnMount is set to true. This list might grow, but the prefix will be used. \"csi.storage.k8s.io/pod.name\": pod.Name \"csi.storage.k8s.io/pod.namespace\": pod.Namespace \"csi.storage.k8s.io/pod.uid\": string(pod.UID) \"csi.storage.k8s.io/ephemeral\": \"true\" if the volume is an ephemeral inline volume\n                                defined by a CSIVolumeSource, otherwise \"false\"\n\n\"csi.storage.k8s.io/ephemeral\" is a new feature in Kubernetes 1.16. It is only required for drivers which support both the \"Persistent\" and \"Ephemeral\" VolumeLifecycleMode. Other drivers can leave pod info disabled and/or ignore this field. As Kubernetes 1.15 doesn't support this field, drivers can only support one mode when deployed on such a cluster and the deployment determines which mode that is, for example via a command line parameter of the driver.\n\nThis field was immutable in Kubernetes < 1.29 and now is mutable."
   },
   {
    "j": "volumeLifecycleModes",
    "t": "[]@io.k8s.api.storage.v1.VolumeLifecycleMode",
    "o": 1,
    "p": 3,
    "lt": "set",
    "d": "volumeLifecycleModes defines what kind of volumes this CSI volume driver supports. The default if the list is empty is \"Persistent\", which is the usage defined by the CSI specification and implemented in Kubernetes via the usual PV/PVC mechanism.\n\nThe other mode is \"Ephemeral\". In this mode, volumes are defined inline inside the pod spec with CSIVolumeSource and their lifecycle is tied to the lifecycle of that pod. A driver has to be aware of this because it is only going to get a NodePublishVolume call for such a volume.\n\nFor more information about implementing this mode, see https://kubernetes-csi.github.io/docs/ephemeral-local-volumes.html A driver can support one or more of these modes and more modes may be added in the future.\n\nThis field is beta. This field is immutable."
   },
   {
    "j": "storageCapacity",
    "t": "*bool",
    "o": 1,
    "p": 4,
    "d": "storageCapacity indicates that the CSI volume driver wants pod scheduling to consider the storage capacity that the driver deployment will report by creating CSIStorageCapacity objects with capacity information, if set to true.\n\nThe check can be enabled immediately when deploying a driver. In that case, provisioning new volumes with late binding will pause until the driver deployment has published some suitable CSIStorageCapacity object.\n\nAlternatively, the driver can be deployed with the field unset or false and it can be flipped later when storage capacity information has been published.\n\nThis field was immutable in Kubernetes <= 1.22 and now is mutable."
   },
   {
    "j": "fsGroupPolicy",
    "t": "*@io.k8s.api.storage.v1.FSGroupPolicy",
    "o": 1,
    "p": 5,
    "d": "fsGroupPolicy defines if the underlying volume supports changing ownership and permission of the volume before being mounted. Refer to the specific FSGroupPolicy values for additional details.\n\nThis field was immutable in Kubernetes < 1.29 and now is mutable.\n\nDefaults to ReadWriteOnceWithFSType, which will examine each volume to determine if Kubernetes should modify ownership and permissions of the volume. With the default policy the defined fsGroup will only be applied if a fstype is defined and the volume's access mode contains ReadWriteOnce."
   },
   {
    "j": "tokenRequests",
    "t": "[]@io.k8s.api.storage.v1.TokenRequest",
    "o": 1,
    "p": 6,
    "lt": "atomic",
    "d": "tokenRequests indicates the CSI driver needs pods' service account tokens it is mounting volume for to do necessary authentication. Kubelet will pass the tokens in VolumeContext in the CSI NodePublishVolume calls. The CSI driver should parse and validate the following VolumeContext: \"csi.storage.k8s.io/serviceAccount.tokens\": {\n  \"<audience>\": {\n    \"token\": <token>,\n    \"expirationTimestamp\": <expiration timestamp in RFC3339>,\n  },\n  ...\n}\n\nNote: Audience in each TokenRequest should be different and at most one token is empty string. To receive a new token after expiry, RequiresRepublish can be used to trigger NodePublishVolume periodically."
   },
   {
    "j": "requiresRepublish",
    "t": "*bool",
    "o": 1,
    "p": 7,
    "d": "requiresRepublish indicates the CSI driver wants `NodePublishVolume` being periodically called to reflect any possible change in the mounted volume. This field defaults to false.\n\nNote: After a successful initial NodePublishVolume call, subsequent calls to NodePublishVolume should only update the contents of the volume. New mount points will not be seen by a running container."
   },
   {
    "j": "seLinuxMount",
    "t": "*bool",
    "o": 1,
    "p": 8,
    "d": "seLinuxMount specifies if the CSI driver supports \"-o context\" mount option.\n\nWhen \"true\", the CSI driver must ensure that all volumes provided by this CSI driver can be mounted separately with different `-o context` options. This is typical for storage backends that provide volumes as filesystems on block devices or as independent shared volumes. Kubernetes will call NodeStage / NodePublish with \"-o context=xyz\" mount option when mounting a ReadWriteOncePod volume used in Pod that has explicitly set SELinux context. In the future, it may be expanded to other volume AccessModes. In any case, Kubernetes will ensure that the volume is mounted only with a single SELinux context.\n\nWhen \"false\", Kubernetes won't pass any special SELinux mount options to the driver. This is typical for volumes that represent subdirectories of a bigger shared filesystem.\n\nDefault is \"false\"."
   },
   {
    "j": "nodeAllocatableUpdatePeriodSeconds",
    "t": "*int64",
    "o": 1,
    "p": 9,
    "d": "nodeAllocatableUpdatePeriodSeconds specifies the interval between periodic updates of the CSINode allocatable capacity for this driver. When set, both periodic updates and updates triggered by capacity-related failures are enabled. If not set, no updates occur (neither periodic nor upon detecting capacity-related failures), and the allocatable.count remains static. The minimum allowed value for this field is 10 seconds.\n\nThis feature requires the MutableCSINodeAllocatableCount feature gate to be enabled.\n\nThis field is mutable."
   },
   {
    "j": "serviceAccountTokenInSecrets",
    "t": "*bool",
    "o": 1,
    "p": 10,
    "d": "serviceAccountTokenInSecrets is an opt-in for CSI drivers to indicate that service account tokens should be passed via the Secrets field in NodePublishVolumeRequest instead of the VolumeContext field. The CSI specification provides a dedicated Secrets field for sensitive information like tokens, which is the appropriate mechanism for handling credentials. This addresses security concerns where sensitive tokens were being logged as part of volume context.\n\nWhen \"true\", kubelet will pass the tokens only in the Secrets field with the key \"csi.storage.k8s.io/serviceAccount.tokens\". The CSI driver must be updated to read tokens from the Secrets field instead of VolumeContext.\n\nWhen \"false\" or not set, kubelet will pass the tokens in VolumeContext with the key \"csi.storage.k8s.io/serviceAccount.tokens\" (existing behavior). This maintains backward compatibility with existing CSI drivers.\n\nThis field can only be set when TokenRequests is configured. The API server will reject CSIDriver specs that set this field without TokenRequests.\n\nDefault behavior if unset is to pass tokens in the VolumeContext field."
   },
   {
    "j": "preventPodSchedulingIfMissing",
    "t": "*bool",
    "o": 1,
    "p": 11,
    "d": "preventPodSchedulingIfMissing indicates that the CSI driver wants to prevent pod scheduling if the CSI driver on the node is missing.\n\nEnabling this option will prevent the scheduler (or any other component which embeds default scheduler such as cluster-autoscaler) from scheduling pods to nodes where CSI driver is not installed.\n\nFor components(such as cluster-autoscaler) that embed the scheduler and run pod placement simulations using scheduler plugins, they MUST be aware of CSI driver registration information via CSINode object. They must create simulated CSINode objects in addition to Node objects during scheduling simulation, otherwise if PreventPodSchedulingIfMissing is enabled globally for CSIDriver object, any newly created node may be rejected by the scheduler because of missing CSI driver information from the node.\n\nThis is a beta feature and requires the VolumeLimitScaling feature gate to be enabled. Default is \"false\"."
   }
  ]
 },
 "io.k8s.api.storage.v1.CSINode": {
  "go": "v1.CSINode",
  "d": "CSINode holds information about all CSI drivers installed on a node. CSI drivers do not need to create the CSINode object directly. As long as they use the node-driver-registrar sidecar container, the kubelet will automatically populate the CSINode object for the CSI driver as part of kubelet plugin registration. CSINode has the same name as a node. If the object is missing, it means either there are no CSI Drivers available on the node, or the Kubelet version is low enough that it doesn't create this object. CSINode has an OwnerReference that points to the corresponding node object.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata. metadata.name must be the Kubernetes node name."
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.storage.v1.CSINodeSpec",
    "p": 2,
    "req": 1,
    "d": "spec is the specification of CSINode"
   },
   {
    "j": "status",
    "t": "@io.k8s.api.storage.v1.CSINodeStatus",
    "o": 1,
    "p": 3,
    "d": "status contains health and status information for the node's storage."
   }
  ]
 },
 "io.k8s.api.storage.v1.CSINodeDriver": {
  "go": "v1.CSINodeDriver",
  "d": "CSINodeDriver holds information about the specification of one CSI driver installed on a node",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name represents the name of the CSI driver that this object refers to. This MUST be the same name returned by the CSI GetPluginName() call for that driver."
   },
   {
    "j": "nodeID",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "nodeID of the node from the driver point of view. This field enables Kubernetes to communicate with storage systems that do not share the same nomenclature for nodes. For example, Kubernetes may refer to a given node as \"node1\", but the storage system may refer to the same node as \"nodeA\". When Kubernetes issues a command to the storage system to attach a volume to a specific node, it can use this field to refer to the node name using the ID that the storage system will understand, e.g. \"nodeA\" instead of \"node1\". This field is required."
   },
   {
    "j": "topologyKeys",
    "t": "[]string",
    "p": 3,
    "lt": "atomic",
    "d": "topologyKeys is the list of keys supported by the driver. When a driver is initialized on a cluster, it provides a set of topology keys that it understands (e.g. \"company.com/zone\", \"company.com/region\"). When a driver is initialized on a node, it provides the same topology keys along with values. Kubelet will expose these topology keys as labels on its own node object. When Kubernetes does topology aware provisioning, it can use this list to determine which labels it should retrieve from the node object and pass back to the driver. It is possible for different nodes to use different topology keys. This can be empty if driver does not support topology."
   },
   {
    "j": "allocatable",
    "t": "*@io.k8s.api.storage.v1.VolumeNodeResources",
    "o": 1,
    "p": 4,
    "d": "allocatable represents the volume resources of a node that are available for scheduling. This field is beta."
   }
  ]
 },
 "io.k8s.api.storage.v1.CSINodeList": {
  "go": "v1.CSINodeList",
  "d": "CSINodeList is a collection of CSINode objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.storage.v1.CSINode",
    "p": 2,
    "req": 1,
    "d": "items is the list of CSINode"
   }
  ]
 },
 "io.k8s.api.storage.v1.CSINodeSpec": {
  "go": "v1.CSINodeSpec",
  "d": "CSINodeSpec holds information about the specification of all CSI drivers installed on a node",
  "f": [
   {
    "j": "drivers",
    "t": "[]@io.k8s.api.storage.v1.CSINodeDriver",
    "p": 1,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "req": 1,
    "d": "drivers is a list of information of all CSI Drivers existing on a node. If all drivers in the list are uninstalled, this can become empty."
   }
  ]
 },
 "io.k8s.api.storage.v1.CSINodeStatus": {
  "go": "v1.CSINodeStatus",
  "d": "CSINodeStatus contains health and status information for storage on a node.",
  "f": [
   {
    "j": "storageHealth",
    "t": "[]@io.k8s.api.storage.v1.StorageHealth",
    "o": 1,
    "p": 1,
    "ps": "merge",
    "pk": "name",
    "lt": "map",
    "lk": [
     "name"
    ],
    "d": "storageHealth contains backend health reports for CSI drivers registered on the node."
   }
  ]
 },
 "io.k8s.api.storage.v1.CSIStorageCapacity": {
  "go": "v1.CSIStorageCapacity",
  "d": "CSIStorageCapacity stores the result of one CSI GetCapacity call. For a given StorageClass, this describes the available capacity in a particular topology segment.  This can be used when considering where to instantiate new PersistentVolumes.\n\nFor example this can express things like: - StorageClass \"standard\" has \"1234 GiB\" available in \"topology.kubernetes.io/zone=us-east1\" - StorageClass \"localssd\" has \"10 GiB\" available in \"kubernetes.io/hostname=knode-abc123\"\n\nThe following three cases all imply that no capacity is available for a certain combination: - no object exists with suitable topology and storage class name - such an object exists, but the capacity is unset - such an object exists, but the capacity is zero\n\nThe producer of these objects can decide which approach is more suitable.\n\nThey are consumed by the kube-scheduler when a CSI driver opts into capacity-aware scheduling with CSIDriverSpec.StorageCapacity. The scheduler compares the MaximumVolumeSize against the requested size of pending volumes to filter out unsuitable nodes. If MaximumVolumeSize is unset, it falls back to a comparison against the less precise Capacity. If that is also unset, the scheduler assumes that capacity is insufficient and tries some other node.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata. The name has no particular meaning. It must be a DNS subdomain (dots allowed, 253 characters). To ensure that there are no conflicts with other CSI drivers on the cluster, the recommendation is to use csisc-<uuid>, a generated name, or a reverse-domain name which ends with the unique CSI driver name.\n\nObjects are namespaced.\n\nMore info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "nodeTopology",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "o": 1,
    "p": 2,
    "d": "nodeTopology defines which nodes have access to the storage for which capacity was reported. If not set, the storage is not accessible from any node in the cluster. If empty, the storage is accessible from all nodes. This field is immutable."
   },
   {
    "j": "storageClassName",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "storageClassName represents the name of the StorageClass that the reported capacity applies to. It must meet the same requirements as the name of a StorageClass object (non-empty, DNS subdomain). If that object no longer exists, the CSIStorageCapacity object is obsolete and should be removed by its creator. This field is immutable."
   },
   {
    "j": "capacity",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 4,
    "d": "capacity is the value reported by the CSI driver in its GetCapacityResponse for a GetCapacityRequest with topology and parameters that match the previous fields.\n\nThe semantic is currently (CSI spec 1.2) defined as: The available capacity, in bytes, of the storage that can be used to provision volumes. If not set, that information is currently unavailable."
   },
   {
    "j": "maximumVolumeSize",
    "t": "*@io.k8s.apimachinery.pkg.api.resource.Quantity",
    "o": 1,
    "p": 5,
    "d": "maximumVolumeSize is the value reported by the CSI driver in its GetCapacityResponse for a GetCapacityRequest with topology and parameters that match the previous fields.\n\nThis is defined since CSI spec 1.4.0 as the largest size that may be used in a CreateVolumeRequest.capacity_range.required_bytes field to create a volume with the same parameters as those in GetCapacityRequest. The corresponding value in the Kubernetes API is ResourceRequirements.Requests in a volume claim."
   }
  ]
 },
 "io.k8s.api.storage.v1.CSIStorageCapacityList": {
  "go": "v1.CSIStorageCapacityList",
  "d": "CSIStorageCapacityList is a collection of CSIStorageCapacity objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.storage.v1.CSIStorageCapacity",
    "p": 2,
    "req": 1,
    "d": "items is the list of CSIStorageCapacity objects."
   }
  ]
 },
 "io.k8s.api.storage.v1.FSGroupPolicy": {
  "go": "v1.FSGroupPolicy",
  "u": "string"
 },
 "io.k8s.api.storage.v1.StorageClass": {
  "go": "v1.StorageClass",
  "d": "StorageClass describes the parameters for a class of storage for which PersistentVolumes can be dynamically provisioned.\n\nStorageClasses are non-namespaced; the name of the storage class according to etcd is in ObjectMeta.Name.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "provisioner",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "provisioner indicates the type of the provisioner."
   },
   {
    "j": "parameters",
    "t": "map[string]string",
    "o": 1,
    "p": 3,
    "d": "parameters holds the parameters for the provisioner that should create volumes of this storage class."
   },
   {
    "j": "reclaimPolicy",
    "t": "*@io.k8s.api.core.v1.PersistentVolumeReclaimPolicy",
    "o": 1,
    "p": 4,
    "d": "reclaimPolicy controls the reclaimPolicy for dynamically provisioned PersistentVolumes of this storage class. Defaults to Delete."
   },
   {
    "j": "mountOptions",
    "t": "[]string",
    "o": 1,
    "p": 5,
    "lt": "atomic",
    "d": "mountOptions controls the mountOptions for dynamically provisioned PersistentVolumes of this storage class. e.g. [\"ro\", \"soft\"]. Not validated - mount of the PVs will simply fail if one is invalid."
   },
   {
    "j": "allowVolumeExpansion",
    "t": "*bool",
    "o": 1,
    "p": 6,
    "d": "allowVolumeExpansion shows whether the storage class allow volume expand."
   },
   {
    "j": "volumeBindingMode",
    "t": "*@io.k8s.api.storage.v1.VolumeBindingMode",
    "o": 1,
    "p": 7,
    "d": "volumeBindingMode indicates how PersistentVolumeClaims should be provisioned and bound.  When unset, VolumeBindingImmediate is used. This field is only honored by servers that enable the VolumeScheduling feature."
   },
   {
    "j": "allowedTopologies",
    "t": "[]@io.k8s.api.core.v1.TopologySelectorTerm",
    "o": 1,
    "p": 8,
    "lt": "atomic",
    "d": "allowedTopologies restrict the node topologies where volumes can be dynamically provisioned. Each volume plugin defines its own supported topology specifications. An empty TopologySelectorTerm list means there is no topology restriction. This field is only honored by servers that enable the VolumeScheduling feature."
   }
  ]
 },
 "io.k8s.api.storage.v1.StorageClassList": {
  "go": "v1.StorageClassList",
  "d": "StorageClassList is a collection of storage classes.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.storage.v1.StorageClass",
    "p": 2,
    "req": 1,
    "d": "items is the list of StorageClasses"
   }
  ]
 },
 "io.k8s.api.storage.v1.StorageHealth": {
  "go": "v1.StorageHealth",
  "d": "StorageHealth contains storage backend health reported by a CSI driver on a node.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name is the CSI driver name, matching CSINodeDriver.name."
   },
   {
    "j": "healthConditions",
    "t": "[]@io.k8s.api.storage.v1.StorageHealthCondition",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "healthConditions are the adverse storage backend conditions reported by the CSI driver. At most 16 conditions may be reported."
   }
  ]
 },
 "io.k8s.api.storage.v1.StorageHealthCondition": {
  "go": "v1.StorageHealthCondition",
  "d": "StorageHealthCondition represents an adverse health condition reported by a CSI driver for its storage backend on a node.",
  "f": [
   {
    "j": "status",
    "t": "@io.k8s.api.storage.v1.StorageHealthStatusType",
    "p": 1,
    "req": 1,
    "d": "status is the health status category. One of \"StorageUnreachable\", \"StorageDegraded\"."
   },
   {
    "j": "reason",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "reason is a brief CamelCase machine-parseable reason. Maximum permitted length of a reason is 256 characters."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "message is a human-readable description. Maximum permitted length of a message is 1024 characters."
   },
   {
    "j": "accessMode",
    "t": "*@io.k8s.api.core.v1.PersistentVolumeAccessMode",
    "o": 1,
    "p": 4,
    "d": "accessMode is the access mode affected. Nil means all access modes are affected."
   },
   {
    "j": "volumeMode",
    "t": "*@io.k8s.api.core.v1.PersistentVolumeMode",
    "o": 1,
    "p": 5,
    "d": "volumeMode is the volume mode affected. Nil means both are affected."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 6,
    "d": "lastTransitionTime is when this condition first appeared at its current state."
   }
  ]
 },
 "io.k8s.api.storage.v1.StorageHealthStatusType": {
  "go": "v1.StorageHealthStatusType",
  "u": "string"
 },
 "io.k8s.api.storage.v1.TokenRequest": {
  "go": "v1.TokenRequest",
  "d": "TokenRequest contains parameters of a service account token.",
  "f": [
   {
    "j": "audience",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "audience is the intended audience of the token in \"TokenRequestSpec\". It will default to the audiences of kube apiserver."
   },
   {
    "j": "expirationSeconds",
    "t": "*int64",
    "o": 1,
    "p": 2,
    "d": "expirationSeconds is the duration of validity of the token in \"TokenRequestSpec\". It has the same default value of \"ExpirationSeconds\" in \"TokenRequestSpec\"."
   }
  ]
 },
 "io.k8s.api.storage.v1.VolumeAttachment": {
  "go": "v1.VolumeAttachment",
  "d": "VolumeAttachment captures the intent to attach or detach the specified volume to/from the specified node.\n\nVolumeAttachment objects are non-namespaced.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.storage.v1.VolumeAttachmentSpec",
    "p": 2,
    "req": 1,
    "d": "spec represents specification of the desired attach/detach volume behavior. Populated by the Kubernetes system."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.storage.v1.VolumeAttachmentStatus",
    "o": 1,
    "p": 3,
    "d": "status represents status of the VolumeAttachment request. Populated by the entity completing the attach or detach operation, i.e. the external-attacher."
   }
  ]
 },
 "io.k8s.api.storage.v1.VolumeAttachmentList": {
  "go": "v1.VolumeAttachmentList",
  "d": "VolumeAttachmentList is a collection of VolumeAttachment objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.storage.v1.VolumeAttachment",
    "p": 2,
    "req": 1,
    "d": "items is the list of VolumeAttachments"
   }
  ]
 },
 "io.k8s.api.storage.v1.VolumeAttachmentSource": {
  "go": "v1.VolumeAttachmentSource",
  "d": "VolumeAttachmentSource represents a volume that should be attached. Right now only PersistentVolumes can be attached via external attacher, in the future we may allow also inline volumes in pods. Exactly one member can be set.",
  "f": [
   {
    "j": "persistentVolumeName",
    "t": "*string",
    "o": 1,
    "p": 1,
    "d": "persistentVolumeName represents the name of the persistent volume to attach."
   },
   {
    "j": "inlineVolumeSpec",
    "t": "*@io.k8s.api.core.v1.PersistentVolumeSpec",
    "o": 1,
    "p": 2,
    "d": "inlineVolumeSpec contains all the information necessary to attach a persistent volume defined by a pod's inline VolumeSource. This field is populated only for the CSIMigration feature. It contains translated fields from a pod's inline VolumeSource to a PersistentVolumeSpec. This field is beta-level and is only honored by servers that enabled the CSIMigration feature."
   }
  ]
 },
 "io.k8s.api.storage.v1.VolumeAttachmentSpec": {
  "go": "v1.VolumeAttachmentSpec",
  "d": "VolumeAttachmentSpec is the specification of a VolumeAttachment request.",
  "f": [
   {
    "j": "attacher",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "attacher indicates the name of the volume driver that MUST handle this request. This is the name returned by GetPluginName()."
   },
   {
    "j": "source",
    "t": "@io.k8s.api.storage.v1.VolumeAttachmentSource",
    "p": 2,
    "req": 1,
    "d": "source represents the volume that should be attached."
   },
   {
    "j": "nodeName",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "nodeName represents the node that the volume should be attached to."
   }
  ]
 },
 "io.k8s.api.storage.v1.VolumeAttachmentStatus": {
  "go": "v1.VolumeAttachmentStatus",
  "d": "VolumeAttachmentStatus is the status of a VolumeAttachment request.",
  "f": [
   {
    "j": "attached",
    "t": "bool",
    "p": 1,
    "req": 1,
    "d": "attached indicates the volume is successfully attached. This field must only be set by the entity completing the attach operation, i.e. the external-attacher."
   },
   {
    "j": "attachmentMetadata",
    "t": "map[string]string",
    "o": 1,
    "p": 2,
    "d": "attachmentMetadata is populated with any information returned by the attach operation, upon successful attach, that must be passed into subsequent WaitForAttach or Mount calls. This field must only be set by the entity completing the attach operation, i.e. the external-attacher."
   },
   {
    "j": "attachError",
    "t": "*@io.k8s.api.storage.v1.VolumeError",
    "o": 1,
    "p": 3,
    "d": "attachError represents the last error encountered during attach operation, if any. This field must only be set by the entity completing the attach operation, i.e. the external-attacher."
   },
   {
    "j": "detachError",
    "t": "*@io.k8s.api.storage.v1.VolumeError",
    "o": 1,
    "p": 4,
    "d": "detachError represents the last error encountered during detach operation, if any. This field must only be set by the entity completing the detach operation, i.e. the external-attacher."
   }
  ]
 },
 "io.k8s.api.storage.v1.VolumeAttributesClass": {
  "go": "v1.VolumeAttributesClass",
  "d": "VolumeAttributesClass represents a specification of mutable volume attributes defined by the CSI driver. The class can be specified during dynamic provisioning of PersistentVolumeClaims, and changed in the PersistentVolumeClaim spec after provisioning.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "metadata is the standard object metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "driverName",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "driverName is the name of the CSI driver This field is immutable."
   },
   {
    "j": "parameters",
    "t": "map[string]string",
    "o": 1,
    "p": 3,
    "d": "parameters hold volume attributes defined by the CSI driver. These values are opaque to the Kubernetes and are passed directly to the CSI driver. The underlying storage provider supports changing these attributes on an existing volume, however the parameters field itself is immutable. To invoke a volume update, a new VolumeAttributesClass should be created with new parameters, and the PersistentVolumeClaim should be updated to reference the new VolumeAttributesClass.\n\nThis field is required and must contain at least one key/value pair. The keys cannot be empty, and the maximum number of parameters is 512, with a cumulative max size of 256K. If the CSI driver rejects invalid parameters, the target PersistentVolumeClaim will be set to an \"Infeasible\" state in the modifyVolumeStatus field."
   }
  ]
 },
 "io.k8s.api.storage.v1.VolumeAttributesClassList": {
  "go": "v1.VolumeAttributesClassList",
  "d": "VolumeAttributesClassList is a collection of VolumeAttributesClass objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.storage.v1.VolumeAttributesClass",
    "p": 2,
    "req": 1,
    "d": "items is the list of VolumeAttributesClass objects."
   }
  ]
 },
 "io.k8s.api.storage.v1.VolumeBindingMode": {
  "go": "v1.VolumeBindingMode",
  "u": "string"
 },
 "io.k8s.api.storage.v1.VolumeError": {
  "go": "v1.VolumeError",
  "d": "VolumeError captures an error encountered during a volume operation.",
  "f": [
   {
    "j": "time",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 1,
    "d": "time represents the time the error was encountered."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "message represents the error encountered during Attach or Detach operation. This string may be logged, so it should not contain sensitive information."
   },
   {
    "j": "errorCode",
    "t": "*int32",
    "o": 1,
    "p": 3,
    "d": "errorCode is a numeric gRPC code representing the error encountered during Attach or Detach operations.\n\nThis field requires the MutableCSINodeAllocatableCount feature gate being enabled to be set."
   }
  ]
 },
 "io.k8s.api.storage.v1.VolumeLifecycleMode": {
  "go": "v1.VolumeLifecycleMode",
  "u": "string"
 },
 "io.k8s.api.storage.v1.VolumeNodeResources": {
  "go": "v1.VolumeNodeResources",
  "d": "VolumeNodeResources is a set of resource limits for scheduling of volumes.",
  "f": [
   {
    "j": "count",
    "t": "*int32",
    "o": 1,
    "p": 1,
    "d": "count indicates the maximum number of unique volumes managed by the CSI driver that can be used on a node. A volume that is both attached and mounted on a node is considered to be used once, not twice. The same rule applies for a unique volume that is shared among multiple pods on the same node. If this field is not specified, then the supported number of volumes on this node is unbounded."
   }
  ]
 },
 "io.k8s.api.storagemigration.v1.StorageVersionMigration": {
  "go": "v1.StorageVersionMigration",
  "d": "StorageVersionMigration represents a migration of stored data to the latest storage version.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.api.storagemigration.v1.StorageVersionMigrationSpec",
    "o": 1,
    "p": 2,
    "d": "Specification of the migration."
   },
   {
    "j": "status",
    "t": "@io.k8s.api.storagemigration.v1.StorageVersionMigrationStatus",
    "o": 1,
    "p": 3,
    "d": "Status of the migration."
   }
  ]
 },
 "io.k8s.api.storagemigration.v1.StorageVersionMigrationList": {
  "go": "v1.StorageVersionMigrationList",
  "d": "StorageVersionMigrationList is a collection of storage version migrations.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.api.storagemigration.v1.StorageVersionMigration",
    "p": 2,
    "req": 1,
    "d": "Items is the list of StorageVersionMigration"
   }
  ]
 },
 "io.k8s.api.storagemigration.v1.StorageVersionMigrationSpec": {
  "go": "v1.StorageVersionMigrationSpec",
  "d": "Spec of the storage version migration.",
  "f": [
   {
    "j": "resource",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.GroupResource",
    "p": 1,
    "req": 1,
    "d": "The resource that is being migrated. The migrator sends requests to the endpoint serving the resource. Immutable."
   }
  ]
 },
 "io.k8s.api.storagemigration.v1.StorageVersionMigrationStatus": {
  "go": "v1.StorageVersionMigrationStatus",
  "d": "Status of the storage version migration.",
  "f": [
   {
    "j": "conditions",
    "t": "[]@io.k8s.apimachinery.pkg.apis.meta.v1.Condition",
    "o": 1,
    "p": 1,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "The latest available observations of the migration's current state."
   },
   {
    "j": "resourceVersion",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "ResourceVersion to compare with the GC cache for performing the migration. This is the current resource version of given group, version and resource when kube-controller-manager first observes this StorageVersionMigration resource."
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ConditionStatus": {
  "go": "v1.ConditionStatus",
  "u": "string"
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ConversionStrategyType": {
  "go": "v1.ConversionStrategyType",
  "u": "string"
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceColumnDefinition": {
  "go": "v1.CustomResourceColumnDefinition",
  "d": "CustomResourceColumnDefinition specifies a column for server side printing.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name is a human readable name for the column."
   },
   {
    "j": "type",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "type is an OpenAPI type definition for this column. See https://github.com/OAI/OpenAPI-Specification/blob/master/versions/2.0.md#data-types for details."
   },
   {
    "j": "format",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "format is an optional OpenAPI type definition for this column. The 'name' format is applied to the primary identifier column to assist in clients identifying column is the resource name. See https://github.com/OAI/OpenAPI-Specification/blob/master/versions/2.0.md#data-types for details."
   },
   {
    "j": "description",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "description is a human readable description of this column."
   },
   {
    "j": "priority",
    "t": "int32",
    "o": 1,
    "p": 5,
    "d": "priority is an integer defining the relative importance of this column compared to others. Lower numbers are considered higher priority. Columns that may be omitted in limited space scenarios should be given a priority greater than 0."
   },
   {
    "j": "jsonPath",
    "t": "string",
    "p": 6,
    "req": 1,
    "d": "jsonPath is a simple JSON path (i.e. with array notation) which is evaluated against each custom resource to produce the value for this column."
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceConversion": {
  "go": "v1.CustomResourceConversion",
  "d": "CustomResourceConversion describes how to convert different versions of a CR.",
  "f": [
   {
    "j": "strategy",
    "t": "@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ConversionStrategyType",
    "p": 1,
    "req": 1,
    "d": "strategy specifies how custom resources are converted between versions. Allowed values are: - `\"None\"`: The converter only change the apiVersion and would not touch any other field in the custom resource. - `\"Webhook\"`: API Server will call to an external webhook to do the conversion. Additional information\n  is needed for this option. This requires spec.preserveUnknownFields to be false, and spec.conversion.webhook to be set."
   },
   {
    "j": "webhook",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.WebhookConversion",
    "o": 1,
    "p": 2,
    "d": "webhook describes how to call the conversion webhook. Required when `strategy` is set to `\"Webhook\"`."
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition": {
  "go": "v1.CustomResourceDefinition",
  "d": "CustomResourceDefinition represents a resource that should be exposed on the API server.  Its name MUST be in the format <.spec.name>.<.spec.group>.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec",
    "p": 2,
    "req": 1,
    "d": "spec describes how the user wants the resources to appear"
   },
   {
    "j": "status",
    "t": "@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus",
    "o": 1,
    "p": 3,
    "d": "status indicates the actual state of the CustomResourceDefinition"
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionCondition": {
  "go": "v1.CustomResourceDefinitionCondition",
  "d": "CustomResourceDefinitionCondition contains details for the current condition of this pod.",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionConditionType",
    "p": 1,
    "req": 1,
    "d": "type is the type of the condition. Types include Established, NamesAccepted and Terminating."
   },
   {
    "j": "status",
    "t": "@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ConditionStatus",
    "p": 2,
    "req": 1,
    "d": "status is the status of the condition. Can be True, False, Unknown."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 3,
    "d": "lastTransitionTime last time the condition transitioned from one status to another."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "reason is a unique, one-word, CamelCase reason for the condition's last transition."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "message is a human-readable message indicating details about last transition."
   },
   {
    "j": "observedGeneration",
    "t": "int64",
    "o": 1,
    "p": 6,
    "d": "observedGeneration represents the .metadata.generation that the condition was set based upon. For instance, if .metadata.generation is currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date with respect to the current state of the instance."
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionConditionType": {
  "go": "v1.CustomResourceDefinitionConditionType",
  "u": "string"
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionList": {
  "go": "v1.CustomResourceDefinitionList",
  "d": "CustomResourceDefinitionList is a list of CustomResourceDefinition objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
    "p": 2,
    "req": 1,
    "d": "items list individual CustomResourceDefinition objects"
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionNames": {
  "go": "v1.CustomResourceDefinitionNames",
  "d": "CustomResourceDefinitionNames indicates the names to serve this CustomResourceDefinition",
  "f": [
   {
    "j": "plural",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "plural is the plural name of the resource to serve. The custom resources are served under `/apis/<group>/<version>/.../<plural>`. Must match the name of the CustomResourceDefinition (in the form `<names.plural>.<group>`). Must be all lowercase."
   },
   {
    "j": "singular",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "singular is the singular name of the resource. It must be all lowercase. Defaults to lowercased `kind`."
   },
   {
    "j": "shortNames",
    "t": "[]string",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "shortNames are short names for the resource, exposed in API discovery documents, and used by clients to support invocations like `kubectl get <shortname>`. It must be all lowercase."
   },
   {
    "j": "kind",
    "t": "string",
    "p": 4,
    "req": 1,
    "d": "kind is the serialized kind of the resource. It is normally CamelCase and singular. Custom resource instances will use this value as the `kind` attribute in API calls."
   },
   {
    "j": "listKind",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "listKind is the serialized kind of the list for this resource. Defaults to \"`kind`List\"."
   },
   {
    "j": "categories",
    "t": "[]string",
    "o": 1,
    "p": 6,
    "lt": "atomic",
    "d": "categories is a list of grouped resources this custom resource belongs to (e.g. 'all'). This is published in API discovery documents, and used by clients to support invocations like `kubectl get all`."
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec": {
  "go": "v1.CustomResourceDefinitionSpec",
  "d": "CustomResourceDefinitionSpec describes how a user wants their resource to appear",
  "f": [
   {
    "j": "group",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "group is the API group of the defined custom resource. The custom resources are served under `/apis/<group>/...`. Must match the name of the CustomResourceDefinition (in the form `<names.plural>.<group>`)."
   },
   {
    "j": "names",
    "t": "@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionNames",
    "p": 3,
    "req": 1,
    "d": "names specify the resource and kind names for the custom resource."
   },
   {
    "j": "scope",
    "t": "@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ResourceScope",
    "p": 4,
    "req": 1,
    "d": "scope indicates whether the defined custom resource is cluster- or namespace-scoped. Allowed values are `Cluster` and `Namespaced`."
   },
   {
    "j": "versions",
    "t": "[]@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion",
    "p": 7,
    "lt": "atomic",
    "req": 1,
    "d": "versions is the list of all API versions of the defined custom resource. Version names are used to compute the order in which served versions are listed in API discovery. If the version string is \"kube-like\", it will sort above non \"kube-like\" version strings, which are ordered lexicographically. \"Kube-like\" versions start with a \"v\", then are followed by a number (the major version), then optionally the string \"alpha\" or \"beta\" and another number (the minor version). These are sorted first by GA > beta > alpha (where GA is a version with no suffix such as beta or alpha), and then by comparing major version, then minor version. An example sorted list of versions: v10, v2, v1, v11beta2, v10beta3, v3beta1, v12alpha1, v11alpha2, foo1, foo10."
   },
   {
    "j": "conversion",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceConversion",
    "o": 1,
    "p": 9,
    "d": "conversion defines conversion settings for the CRD."
   },
   {
    "j": "preserveUnknownFields",
    "t": "bool",
    "o": 1,
    "p": 10,
    "d": "preserveUnknownFields indicates that object fields which are not specified in the OpenAPI schema should be preserved when persisting to storage. apiVersion, kind, metadata and known fields inside metadata are always preserved. This field is deprecated in favor of setting `x-preserve-unknown-fields` to true in `spec.versions[*].schema.openAPIV3Schema`. See https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning for details."
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus": {
  "go": "v1.CustomResourceDefinitionStatus",
  "d": "CustomResourceDefinitionStatus indicates the state of the CustomResourceDefinition",
  "f": [
   {
    "j": "conditions",
    "t": "[]@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionCondition",
    "p": 1,
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "conditions indicate state for particular aspects of a CustomResourceDefinition"
   },
   {
    "j": "acceptedNames",
    "t": "@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionNames",
    "p": 2,
    "d": "acceptedNames are the names that are actually being used to serve discovery. They may be different than the names in spec."
   },
   {
    "j": "storedVersions",
    "t": "[]string",
    "p": 3,
    "lt": "atomic",
    "d": "storedVersions lists all versions of CustomResources that were ever persisted. Tracking these versions allows a migration path for stored versions in etcd. The field is mutable so a migration controller can finish a migration to another version (ensuring no old objects are left in storage), and then remove the rest of the versions from this list. Versions may not be removed from `spec.versions` while they exist in this list."
   },
   {
    "j": "observedGeneration",
    "t": "int64",
    "o": 1,
    "p": 4,
    "d": "The generation observed by the CRD controller."
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion": {
  "go": "v1.CustomResourceDefinitionVersion",
  "d": "CustomResourceDefinitionVersion describes a version for CRD.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "name is the version name, e.g. “v1”, “v2beta1”, etc. The custom resources are served under this version at `/apis/<group>/<version>/...` if `served` is true."
   },
   {
    "j": "served",
    "t": "bool",
    "p": 2,
    "req": 1,
    "d": "served is a flag enabling/disabling this version from being served via REST APIs"
   },
   {
    "j": "storage",
    "t": "bool",
    "p": 3,
    "req": 1,
    "d": "storage indicates this version should be used when persisting custom resources to storage. There must be exactly one version with storage=true."
   },
   {
    "j": "deprecated",
    "t": "bool",
    "o": 1,
    "p": 7,
    "d": "deprecated indicates this version of the custom resource API is deprecated. When set to true, API requests to this version receive a warning header in the server response. Defaults to false."
   },
   {
    "j": "deprecationWarning",
    "t": "*string",
    "o": 1,
    "p": 8,
    "d": "deprecationWarning overrides the default warning returned to API clients. May only be set when `deprecated` is true. The default warning indicates this version is deprecated and recommends use of the newest served version of equal or greater stability, if one exists."
   },
   {
    "j": "schema",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceValidation",
    "o": 1,
    "p": 4,
    "d": "schema describes the schema used for validation, pruning, and defaulting of this version of the custom resource."
   },
   {
    "j": "subresources",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresources",
    "o": 1,
    "p": 5,
    "d": "subresources specify what subresources this version of the defined custom resource have."
   },
   {
    "j": "additionalPrinterColumns",
    "t": "[]@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceColumnDefinition",
    "o": 1,
    "p": 6,
    "lt": "atomic",
    "d": "additionalPrinterColumns specifies additional columns returned in Table output. See https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables for details. If no columns are specified, a single column displaying the age of the custom resource is used."
   },
   {
    "j": "selectableFields",
    "t": "[]@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.SelectableField",
    "o": 1,
    "p": 9,
    "lt": "atomic",
    "d": "selectableFields specifies paths to fields that may be used as field selectors. A maximum of 8 selectable fields are allowed. See https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors"
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceScale": {
  "go": "v1.CustomResourceSubresourceScale",
  "d": "CustomResourceSubresourceScale defines how to serve the scale subresource for CustomResources.",
  "f": [
   {
    "j": "specReplicasPath",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "specReplicasPath defines the JSON path inside of a custom resource that corresponds to Scale `spec.replicas`. Only JSON paths without the array notation are allowed. Must be a JSON Path under `.spec`. If there is no value under the given path in the custom resource, the `/scale` subresource will return an error on GET."
   },
   {
    "j": "statusReplicasPath",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "statusReplicasPath defines the JSON path inside of a custom resource that corresponds to Scale `status.replicas`. Only JSON paths without the array notation are allowed. Must be a JSON Path under `.status`. If there is no value under the given path in the custom resource, the `status.replicas` value in the `/scale` subresource will default to 0."
   },
   {
    "j": "labelSelectorPath",
    "t": "*string",
    "o": 1,
    "p": 3,
    "d": "labelSelectorPath defines the JSON path inside of a custom resource that corresponds to Scale `status.selector`. Only JSON paths without the array notation are allowed. Must be a JSON Path under `.status` or `.spec`. Must be set to work with HorizontalPodAutoscaler. The field pointed by this JSON path must be a string field (not a complex selector struct) which contains a serialized label selector in string form. More info: https://kubernetes.io/docs/tasks/access-kubernetes-api/custom-resources/custom-resource-definitions#scale-subresource If there is no value under the given path in the custom resource, the `status.selector` value in the `/scale` subresource will default to the empty string."
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceStatus": {
  "go": "v1.CustomResourceSubresourceStatus",
  "d": "CustomResourceSubresourceStatus defines how to serve the status subresource for CustomResources. Status is represented by the `.status` JSON path inside of a CustomResource. When set, * exposes a /status subresource for the custom resource * PUT requests to the /status subresource take a custom resource object, and ignore changes to anything except the status stanza * PUT/POST/PATCH requests to the custom resource ignore changes to the status stanza",
  "f": []
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresources": {
  "go": "v1.CustomResourceSubresources",
  "d": "CustomResourceSubresources defines the status and scale subresources for CustomResources.",
  "f": [
   {
    "j": "status",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceStatus",
    "o": 1,
    "p": 1,
    "d": "status indicates the custom resource should serve a `/status` subresource. When enabled: 1. requests to the custom resource primary endpoint ignore changes to the `status` stanza of the object. 2. requests to the custom resource `/status` subresource ignore changes to anything other than the `status` stanza of the object."
   },
   {
    "j": "scale",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceScale",
    "o": 1,
    "p": 2,
    "d": "scale indicates the custom resource should serve a `/scale` subresource that returns an `autoscaling/v1` Scale object."
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceValidation": {
  "go": "v1.CustomResourceValidation",
  "d": "CustomResourceValidation is a list of validation methods for CustomResources.",
  "f": [
   {
    "j": "openAPIV3Schema",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
    "o": 1,
    "p": 1,
    "d": "openAPIV3Schema is the OpenAPI v3 schema to use for validation and pruning."
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ExternalDocumentation": {
  "go": "v1.ExternalDocumentation",
  "d": "ExternalDocumentation allows referencing an external resource for extended documentation.",
  "f": [
   {
    "j": "description",
    "t": "string",
    "o": 1,
    "p": 1
   },
   {
    "j": "url",
    "t": "string",
    "o": 1,
    "p": 2
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.FieldValueErrorReason": {
  "go": "v1.FieldValueErrorReason",
  "u": "string"
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": {
  "go": "v1.JSON",
  "d": "JSON represents any valid JSON value. These types are supported: bool, int64, float64, string, []interface{}, map[string]interface{} and nil."
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaDefinitions": {
  "go": "v1.JSONSchemaDefinitions",
  "u": "map[string]@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaDependencies": {
  "go": "v1.JSONSchemaDependencies",
  "u": "map[string]@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray"
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps": {
  "go": "v1.JSONSchemaProps",
  "d": "JSONSchemaProps is a JSON-Schema following Specification Draft 4 (http://json-schema.org/).",
  "f": [
   {
    "j": "id",
    "t": "string",
    "o": 1,
    "p": 1
   },
   {
    "j": "$schema",
    "t": "@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaURL",
    "o": 1,
    "p": 2
   },
   {
    "j": "$ref",
    "t": "*string",
    "o": 1,
    "p": 3
   },
   {
    "j": "description",
    "t": "string",
    "o": 1,
    "p": 4
   },
   {
    "j": "type",
    "t": "string",
    "o": 1,
    "p": 5
   },
   {
    "j": "format",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "format is an OpenAPI v3 format string. Unknown formats are ignored. The following formats are validated:\n\n- bsonobjectid: a bson object ID, i.e. a 24 characters hex string - uri: an URI as parsed by Golang net/url.ParseRequestURI - email: an email address as parsed by Golang net/mail.ParseAddress - hostname: a valid representation for an Internet host name, as defined by RFC 1034, section 3.1 [RFC1034]. - ipv4: an IPv4 IP as parsed by Golang net.ParseIP - ipv6: an IPv6 IP as parsed by Golang net.ParseIP - cidr: a CIDR as parsed by Golang net.ParseCIDR - mac: a MAC address as parsed by Golang net.ParseMAC - uuid: an UUID that allows uppercase defined by the regex (?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$ - uuid3: an UUID3 that allows uppercase defined by the regex (?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$ - uuid4: an UUID4 that allows uppercase defined by the regex (?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$ - uuid5: an UUID5 that allows uppercase defined by the regex (?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$ - isbn: an ISBN10 or ISBN13 number string like \"0321751043\" or \"978-0321751041\" - isbn10: an ISBN10 number string like \"0321751043\" - isbn13: an ISBN13 number string like \"978-0321751041\" - creditcard: a credit card number defined by the regex ^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\\\\d{3})\\\\d{11})$ with any non digit characters mixed in - ssn: a U.S. social security number following the regex ^\\\\d{3}[- ]?\\\\d{2}[- ]?\\\\d{4}$ - hexcolor: an hexadecimal color code like \"#FFFFFF: following the regex ^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$ - rgbcolor: an RGB color code like rgb like \"rgb(255,255,2559\" - byte: base64 encoded binary data - password: any kind of string - date: a date string like \"2006-01-02\" as defined by full-date in RFC3339 - duration: a duration string like \"22 ns\" as parsed by Golang time.ParseDuration or compatible with Scala duration format - datetime: a date time string like \"2014-12-15T19:30:20.000Z\" as defined by date-time in RFC3339."
   },
   {
    "j": "title",
    "t": "string",
    "o": 1,
    "p": 7
   },
   {
    "j": "default",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    "o": 1,
    "p": 8,
    "d": "default is a default value for undefined object fields. Defaulting is a beta feature under the CustomResourceDefaulting feature gate. Defaulting requires spec.preserveUnknownFields to be false."
   },
   {
    "j": "maximum",
    "t": "*float64",
    "o": 1,
    "p": 9
   },
   {
    "j": "exclusiveMaximum",
    "t": "bool",
    "o": 1,
    "p": 10
   },
   {
    "j": "minimum",
    "t": "*float64",
    "o": 1,
    "p": 11
   },
   {
    "j": "exclusiveMinimum",
    "t": "bool",
    "o": 1,
    "p": 12
   },
   {
    "j": "maxLength",
    "t": "*int64",
    "o": 1,
    "p": 13
   },
   {
    "j": "minLength",
    "t": "*int64",
    "o": 1,
    "p": 14
   },
   {
    "j": "pattern",
    "t": "string",
    "o": 1,
    "p": 15
   },
   {
    "j": "maxItems",
    "t": "*int64",
    "o": 1,
    "p": 16
   },
   {
    "j": "minItems",
    "t": "*int64",
    "o": 1,
    "p": 17
   },
   {
    "j": "uniqueItems",
    "t": "bool",
    "o": 1,
    "p": 18
   },
   {
    "j": "multipleOf",
    "t": "*float64",
    "o": 1,
    "p": 19
   },
   {
    "j": "enum",
    "t": "[]@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    "o": 1,
    "p": 20,
    "lt": "atomic"
   },
   {
    "j": "maxProperties",
    "t": "*int64",
    "o": 1,
    "p": 21
   },
   {
    "j": "minProperties",
    "t": "*int64",
    "o": 1,
    "p": 22
   },
   {
    "j": "required",
    "t": "[]string",
    "o": 1,
    "p": 23,
    "lt": "atomic"
   },
   {
    "j": "items",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
    "o": 1,
    "p": 24
   },
   {
    "j": "allOf",
    "t": "[]@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
    "o": 1,
    "p": 25,
    "lt": "atomic"
   },
   {
    "j": "oneOf",
    "t": "[]@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
    "o": 1,
    "p": 26,
    "lt": "atomic"
   },
   {
    "j": "anyOf",
    "t": "[]@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
    "o": 1,
    "p": 27,
    "lt": "atomic"
   },
   {
    "j": "not",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
    "o": 1,
    "p": 28
   },
   {
    "j": "properties",
    "t": "map[string]@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
    "o": 1,
    "p": 29
   },
   {
    "j": "additionalProperties",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
    "o": 1,
    "p": 30
   },
   {
    "j": "patternProperties",
    "t": "map[string]@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
    "o": 1,
    "p": 31
   },
   {
    "j": "dependencies",
    "t": "@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaDependencies",
    "o": 1,
    "p": 32
   },
   {
    "j": "additionalItems",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
    "o": 1,
    "p": 33
   },
   {
    "j": "definitions",
    "t": "@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaDefinitions",
    "o": 1,
    "p": 34
   },
   {
    "j": "externalDocs",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ExternalDocumentation",
    "o": 1,
    "p": 35
   },
   {
    "j": "example",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    "o": 1,
    "p": 36
   },
   {
    "j": "nullable",
    "t": "bool",
    "o": 1,
    "p": 37
   },
   {
    "j": "x-kubernetes-preserve-unknown-fields",
    "t": "*bool",
    "o": 1,
    "p": 38,
    "d": "x-kubernetes-preserve-unknown-fields stops the API server decoding step from pruning fields which are not specified in the validation schema. This affects fields recursively, but switches back to normal pruning behaviour if nested properties or additionalProperties are specified in the schema. This can either be true or undefined. False is forbidden."
   },
   {
    "j": "x-kubernetes-embedded-resource",
    "t": "bool",
    "o": 1,
    "p": 39,
    "d": "x-kubernetes-embedded-resource defines that the value is an embedded Kubernetes runtime.Object, with TypeMeta and ObjectMeta. The type must be object. It is allowed to further restrict the embedded object. kind, apiVersion and metadata are validated automatically. x-kubernetes-preserve-unknown-fields is allowed to be true, but does not have to be if the object is fully specified (up to kind, apiVersion, metadata)."
   },
   {
    "j": "x-kubernetes-int-or-string",
    "t": "bool",
    "o": 1,
    "p": 40,
    "d": "x-kubernetes-int-or-string specifies that this value is either an integer or a string. If this is true, an empty type is allowed and type as child of anyOf is permitted if following one of the following patterns:\n\n1) anyOf:\n   - type: integer\n   - type: string\n2) allOf:\n   - anyOf:\n     - type: integer\n     - type: string\n   - ... zero or more"
   },
   {
    "j": "x-kubernetes-list-map-keys",
    "t": "[]string",
    "o": 1,
    "p": 41,
    "lt": "atomic",
    "d": "x-kubernetes-list-map-keys annotates an array with the x-kubernetes-list-type `map` by specifying the keys used as the index of the map.\n\nThis tag MUST only be used on lists that have the \"x-kubernetes-list-type\" extension set to \"map\". Also, the values specified for this attribute must be a scalar typed field of the child structure (no nesting is supported).\n\nThe properties specified must either be required or have a default value, to ensure those properties are present for all list items."
   },
   {
    "j": "x-kubernetes-list-type",
    "t": "*string",
    "o": 1,
    "p": 42,
    "d": "x-kubernetes-list-type annotates an array to further describe its topology. This extension must only be used on lists and may have 3 possible values:\n\n1) `atomic`: the list is treated as a single entity, like a scalar.\n     Atomic lists will be entirely replaced when updated. This extension\n     may be used on any type of list (struct, scalar, ...).\n2) `set`:\n     Sets are lists that must not have multiple items with the same value. Each\n     value must be a scalar, an object with x-kubernetes-map-type `atomic` or an\n     array with x-kubernetes-list-type `atomic`.\n3) `map`:\n     These lists are like maps in that their elements have a non-index key\n     used to identify them. Order is preserved upon merge. The map tag\n     must only be used on a list with elements of type object.\nDefaults to atomic for arrays."
   },
   {
    "j": "x-kubernetes-map-type",
    "t": "*string",
    "o": 1,
    "p": 43,
    "d": "x-kubernetes-map-type annotates an object to further describe its topology. This extension must only be used when type is object and may have 2 possible values:\n\n1) `granular`:\n     These maps are actual maps (key-value pairs) and each fields are independent\n     from each other (they can each be manipulated by separate actors). This is\n     the default behaviour for all maps.\n2) `atomic`: the list is treated as a single entity, like a scalar.\n     Atomic maps will be entirely replaced when updated."
   },
   {
    "j": "x-kubernetes-validations",
    "t": "@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ValidationRules",
    "o": 1,
    "p": 44,
    "ps": "merge",
    "pk": "rule",
    "lt": "map",
    "lk": [
     "rule"
    ],
    "d": "x-kubernetes-validations describes a list of validation rules written in the CEL expression language."
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": {
  "go": "v1.JSONSchemaPropsOrArray",
  "d": "JSONSchemaPropsOrArray represents a value that can either be a JSONSchemaProps or an array of JSONSchemaProps. Mainly here for serialization purposes."
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": {
  "go": "v1.JSONSchemaPropsOrBool",
  "d": "JSONSchemaPropsOrBool represents JSONSchemaProps or a boolean value. Defaults to true for the boolean property."
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": {
  "go": "v1.JSONSchemaPropsOrStringArray",
  "d": "JSONSchemaPropsOrStringArray represents a JSONSchemaProps or a string array."
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaURL": {
  "go": "v1.JSONSchemaURL",
  "u": "string"
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ResourceScope": {
  "go": "v1.ResourceScope",
  "u": "string"
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.SelectableField": {
  "go": "v1.SelectableField",
  "d": "SelectableField specifies the JSON path of a field that may be used with field selectors.",
  "f": [
   {
    "j": "jsonPath",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "jsonPath is a simple JSON path which is evaluated against each custom resource to produce a field selector value. Only JSON paths without the array notation are allowed. Must point to a field of type string, boolean or integer. Types with enum values and strings with formats are allowed. If jsonPath refers to absent field in a resource, the jsonPath evaluates to an empty string. Must not point to metdata fields. Required."
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ServiceReference": {
  "go": "v1.ServiceReference",
  "d": "ServiceReference holds a reference to Service.legacy.k8s.io",
  "f": [
   {
    "j": "namespace",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "namespace is the namespace of the service. Required"
   },
   {
    "j": "name",
    "t": "string",
    "p": 2,
    "req": 1,
    "d": "name is the name of the service. Required"
   },
   {
    "j": "path",
    "t": "*string",
    "o": 1,
    "p": 3,
    "d": "path is an optional URL path at which the webhook will be contacted."
   },
   {
    "j": "port",
    "t": "*int32",
    "o": 1,
    "p": 4,
    "d": "port is an optional service port at which the webhook will be contacted. `port` should be a valid port number (1-65535, inclusive). Defaults to 443 for backward compatibility."
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ValidationRule": {
  "go": "v1.ValidationRule",
  "d": "ValidationRule describes a validation rule written in the CEL expression language.",
  "f": [
   {
    "j": "rule",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Rule represents the expression which will be evaluated by CEL. ref: https://github.com/google/cel-spec The Rule is scoped to the location of the x-kubernetes-validations extension in the schema. The `self` variable in the CEL expression is bound to the scoped value. Example: - Rule scoped to the root of a resource with a status subresource: {\"rule\": \"self.status.actual <= self.spec.maxDesired\"}\n\nIf the Rule is scoped to an object with properties, the accessible properties of the object are field selectable via `self.field` and field presence can be checked via `has(self.field)`. Null valued fields are treated as absent fields in CEL expressions. If the Rule is scoped to an object with additionalProperties (i.e. a map) the value of the map are accessible via `self[mapKey]`, map containment can be checked via `mapKey in self` and all entries of the map are accessible via CEL macros and functions such as `self.all(...)`. If the Rule is scoped to an array, the elements of the array are accessible via `self[i]` and also by macros and functions. If the Rule is scoped to a scalar, `self` is bound to the scalar value. Examples: - Rule scoped to a map of objects: {\"rule\": \"self.components['Widget'].priority < 10\"} - Rule scoped to a list of integers: {\"rule\": \"self.values.all(value, value >= 0 && value < 100)\"} - Rule scoped to a string value: {\"rule\": \"self.startsWith('kube')\"}\n\nThe `apiVersion`, `kind`, `metadata.name` and `metadata.generateName` are always accessible from the root of the object and from any x-kubernetes-embedded-resource annotated objects. No other metadata properties are accessible.\n\nUnknown data preserved in custom resources via x-kubernetes-preserve-unknown-fields is not accessible in CEL expressions. This includes: - Unknown field values that are preserved by object schemas with x-kubernetes-preserve-unknown-fields. - Object properties where the property schema is of an \"unknown type\". An \"unknown type\" is recursively defined as:\n  - A schema with no type and x-kubernetes-preserve-unknown-fields set to true\n  - An array where the items schema is of an \"unknown type\"\n  - An object where the additionalProperties schema is of an \"unknown type\"\n\nOnly property names of the form `[a-zA-Z_.-/][a-zA-Z0-9_.-/]*` are accessible. Accessible property names are escaped according to the following rules when accessed in the expression: - '__' escapes to '__underscores__' - '.' escapes to '__dot__' - '-' escapes to '__dash__' - '/' escapes to '__slash__' - Property names that exactly match a CEL RESERVED keyword escape to '__{keyword}__'. The keywords are:\n\t  \"true\", \"false\", \"null\", \"in\", \"as\", \"break\", \"const\", \"continue\", \"else\", \"for\", \"function\", \"if\",\n\t  \"import\", \"let\", \"loop\", \"package\", \"namespace\", \"return\".\nExamples:\n  - Rule accessing a property named \"namespace\": {\"rule\": \"self.__namespace__ > 0\"}\n  - Rule accessing a property named \"x-prop\": {\"rule\": \"self.x__dash__prop > 0\"}\n  - Rule accessing a property named \"redact__d\": {\"rule\": \"self.redact__underscores__d > 0\"}\n\nEquality on arrays with x-kubernetes-list-type of 'set' or 'map' ignores element order, i.e. [1, 2] == [2, 1]. Concatenation on arrays with x-kubernetes-list-type use the semantics of the list type:\n  - 'set': `X + Y` performs a union where the array positions of all elements in `X` are preserved and\n    non-intersecting elements in `Y` are appended, retaining their partial order.\n  - 'map': `X + Y` performs a merge where the array positions of all keys in `X` are preserved but the values\n    are overwritten by values in `Y` when the key sets of `X` and `Y` intersect. Elements in `Y` with\n    non-intersecting keys are appended, retaining their partial order.\n\nIf `rule` makes use of the `oldSelf` variable it is implicitly a `transition rule`.\n\nBy default, the `oldSelf` variable is the same type as `self`. When `optionalOldSelf` is true, the `oldSelf` variable is a CEL optional\n variable whose value() is the same type as `self`.\nSee the documentation for the `optionalOldSelf` field for details.\n\nTransition rules by default are applied only on UPDATE requests and are skipped if an old value could not be found. You can opt a transition rule into unconditional evaluation by setting `optionalOldSelf` to true."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "Message represents the message displayed when validation fails. The message is required if the Rule contains line breaks. The message must not contain line breaks. If unset, the message is \"failed rule: {Rule}\". e.g. \"must be a URL with the host matching spec.host\""
   },
   {
    "j": "messageExpression",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "MessageExpression declares a CEL expression that evaluates to the validation failure message that is returned when this rule fails. Since messageExpression is used as a failure message, it must evaluate to a string. If both message and messageExpression are present on a rule, then messageExpression will be used if validation fails. If messageExpression results in a runtime error, the runtime error is logged, and the validation failure message is produced as if the messageExpression field were unset. If messageExpression evaluates to an empty string, a string with only spaces, or a string that contains line breaks, then the validation failure message will also be produced as if the messageExpression field were unset, and the fact that messageExpression produced an empty string/string with only spaces/string with line breaks will be logged. messageExpression has access to all the same variables as the rule; the only difference is the return type. Example: \"x must be less than max (\"+string(self.max)+\")\""
   },
   {
    "j": "reason",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.FieldValueErrorReason",
    "o": 1,
    "p": 4,
    "d": "reason provides a machine-readable validation failure reason that is returned to the caller when a request fails this validation rule. The HTTP status code returned to the caller will match the reason of the reason of the first failed validation rule. The currently supported reasons are: \"FieldValueInvalid\", \"FieldValueForbidden\", \"FieldValueRequired\", \"FieldValueDuplicate\". If not set, default to use \"FieldValueInvalid\". All future added reasons must be accepted by clients when reading this value and unknown reasons should be treated as FieldValueInvalid."
   },
   {
    "j": "fieldPath",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "fieldPath represents the field path returned when the validation fails. It must be a relative JSON path (i.e. with array notation) scoped to the location of this x-kubernetes-validations extension in the schema and refer to an existing field. e.g. when validation checks if a specific attribute `foo` under a map `testMap`, the fieldPath could be set to `.testMap.foo` If the validation checks two lists must have unique attributes, the fieldPath could be set to either of the list: e.g. `.testList` It does not support list numeric index. It supports child operation to refer to an existing field currently. Refer to [JSONPath support in Kubernetes](https://kubernetes.io/docs/reference/kubectl/jsonpath/) for more info. Numeric index of array is not supported. For field name which contains special characters, use `['specialName']` to refer the field name. e.g. for attribute `foo.34$` appears in a list `testList`, the fieldPath could be set to `.testList['foo.34$']`"
   },
   {
    "j": "optionalOldSelf",
    "t": "*bool",
    "o": 1,
    "p": 6,
    "d": "optionalOldSelf is used to opt a transition rule into evaluation even when the object is first created, or if the old object is missing the value.\n\nWhen enabled `oldSelf` will be a CEL optional whose value will be `None` if there is no old value, or when the object is initially created.\n\nYou may check for presence of oldSelf using `oldSelf.hasValue()` and unwrap it after checking using `oldSelf.value()`. Check the CEL documentation for Optional types for more information: https://pkg.go.dev/github.com/google/cel-go/cel#OptionalTypes\n\nMay not be set unless `oldSelf` is used in `rule`."
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ValidationRules": {
  "go": "v1.ValidationRules",
  "u": "[]@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ValidationRule"
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.WebhookClientConfig": {
  "go": "v1.WebhookClientConfig",
  "d": "WebhookClientConfig contains the information to make a TLS connection with the webhook.",
  "f": [
   {
    "j": "url",
    "t": "*string",
    "o": 1,
    "p": 3,
    "d": "url gives the location of the webhook, in standard URL form (`scheme://host:port/path`). Exactly one of `url` or `service` must be specified.\n\nThe `host` should not refer to a service running in the cluster; use the `service` field instead. The host might be resolved via external DNS in some apiservers (e.g., `kube-apiserver` cannot resolve in-cluster DNS as that would be a layering violation). `host` may also be an IP address.\n\nPlease note that using `localhost` or `127.0.0.1` as a `host` is risky unless you take great care to run this webhook on all hosts which run an apiserver which might need to make calls to this webhook. Such installs are likely to be non-portable, i.e., not easy to turn up in a new cluster.\n\nThe scheme must be \"https\"; the URL must begin with \"https://\".\n\nA path is optional, and if present may be any string permissible in a URL. You may use the path to pass an arbitrary string to the webhook, for example, a cluster identifier.\n\nAttempting to use a user or basic auth e.g. \"user:password@\" is not allowed. Fragments (\"#...\") and query parameters (\"?...\") are not allowed, either."
   },
   {
    "j": "service",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ServiceReference",
    "o": 1,
    "p": 1,
    "d": "service is a reference to the service for this webhook. Either service or url must be specified.\n\nIf the webhook is running within the cluster, then you should use `service`."
   },
   {
    "j": "caBundle",
    "t": "bytes",
    "o": 1,
    "p": 2,
    "d": "caBundle is a PEM encoded CA bundle which will be used to validate the webhook's server certificate. If unspecified, system trust roots on the apiserver are used."
   }
  ]
 },
 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.WebhookConversion": {
  "go": "v1.WebhookConversion",
  "d": "WebhookConversion describes how to call a conversion webhook",
  "f": [
   {
    "j": "clientConfig",
    "t": "*@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.WebhookClientConfig",
    "o": 1,
    "p": 2,
    "d": "clientConfig is the instructions for how to call the webhook if strategy is `Webhook`."
   },
   {
    "j": "conversionReviewVersions",
    "t": "[]string",
    "p": 3,
    "lt": "atomic",
    "req": 1,
    "d": "conversionReviewVersions is an ordered list of preferred `ConversionReview` versions the Webhook expects. The API server will use the first version in the list which it supports. If none of the versions specified in this list are supported by API server, conversion will fail for the custom resource. If a persisted Webhook configuration specifies allowed versions and does not include any versions known to the API Server, calls to the webhook will fail."
   }
  ]
 },
 "io.k8s.apimachinery.pkg.api.resource.Quantity": {
  "go": "resource.Quantity",
  "d": "Quantity is a fixed-point representation of a number. It provides convenient marshaling/unmarshaling in JSON and YAML, in addition to String() and AsInt64() accessors.\n\nThe serialization format is:\n\n``` <quantity>        ::= <signedNumber><suffix>\n\n\t(Note that <suffix> may be empty, from the \"\" case in <decimalSI>.)\n\n<digit>           ::= 0 | 1 | ... | 9 <digits>          ::= <digit> | <digit><digits> <number>          ::= <digits> | <digits>.<digits> | <digits>. | .<digits> <sign>            ::= \"+\" | \"-\" <signedNumber>    ::= <number> | <sign><number> <suffix>          ::= <binarySI> | <decimalExponent> | <decimalSI> <binarySI>        ::= Ki | Mi | Gi | Ti | Pi | Ei\n\n\t(International System of units; See: http://physics.nist.gov/cuu/Units/binary.html)\n\n<decimalSI>       ::= m | \"\" | k | M | G | T | P | E\n\n\t(Note that 1024 = 1Ki but 1000 = 1k; I didn't choose the capitalization.)\n\n<decimalExponent> ::= \"e\" <signedNumber> | \"E\" <signedNumber> ```\n\nNo matter which of the three exponent forms is used, no quantity may represent a number greater than 2^63-1 in magnitude, nor may it have more than 3 decimal places. Numbers larger or more precise will be capped or rounded up. (E.g.: 0.1m will rounded up to 1m.) This may be extended in the future if we require larger or smaller quantities.\n\nWhen a Quantity is parsed from a string, it will remember the type of suffix it had, and will use the same type again when it is serialized.\n\nBefore serializing, Quantity will be put in \"canonical form\". This means that Exponent/suffix will be adjusted up or down (with a corresponding increase or decrease in Mantissa) such that:\n\n- No precision is lost - No fractional digits will be emitted - The exponent (or suffix) is as large as possible.\n\nThe sign will be omitted unless the number is negative.\n\nExamples:\n\n- 1.5 will be serialized as \"1500m\" - 1.5Gi will be serialized as \"1536Mi\"\n\nNote that the quantity will NEVER be internally represented by a floating point number. That is the whole point of this exercise.\n\nNon-canonical values will still parse as long as they are well formed, but will be re-emitted in their canonical form. (So always use canonical form, or don't diff.)\n\nThis format is intended to make it difficult to use these numbers without writing some sort of special handling code in the hopes that that will cause implementors to also use a fixed point implementation."
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.CauseType": {
  "go": "v1.CauseType",
  "u": "string"
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.Condition": {
  "go": "v1.Condition",
  "d": "Condition contains details for one aspect of the current state of this API Resource.",
  "f": [
   {
    "j": "type",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "type of condition in CamelCase or in foo.example.com/CamelCase."
   },
   {
    "j": "status",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ConditionStatus",
    "p": 2,
    "req": 1,
    "d": "status of the condition, one of True, False, Unknown."
   },
   {
    "j": "observedGeneration",
    "t": "int64",
    "o": 1,
    "p": 3,
    "d": "observedGeneration represents the .metadata.generation that the condition was set based upon. For instance, if .metadata.generation is currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date with respect to the current state of the instance."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "p": 4,
    "req": 1,
    "d": "lastTransitionTime is the last time the condition transitioned from one status to another. This should be when the underlying condition changed.  If that is not known, then using the time when the API field changed is acceptable."
   },
   {
    "j": "reason",
    "t": "string",
    "p": 5,
    "req": 1,
    "d": "reason contains a programmatic identifier indicating the reason for the condition's last transition. Producers of specific condition types may define expected values and meanings for this field, and whether the values are considered a guaranteed API. The value should be a CamelCase string. This field may not be empty."
   },
   {
    "j": "message",
    "t": "string",
    "p": 6,
    "req": 1,
    "d": "message is a human readable message indicating details about the transition. This may be an empty string."
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.ConditionStatus": {
  "go": "v1.ConditionStatus",
  "u": "string"
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.CreateOptions": {
  "go": "v1.CreateOptions",
  "d": "CreateOptions may be provided when creating an API object.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "dryRun",
    "t": "[]string",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "When present, indicates that modifications should not be persisted. An invalid or unrecognized dryRun directive will result in an error response and no further processing of the request. Valid values are: - All: all dry run stages will be processed"
   },
   {
    "j": "fieldManager",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "fieldManager is a name associated with the actor or entity that is making these changes. The value must be less than or 128 characters long, and only contain printable characters, as defined by https://golang.org/pkg/unicode/#IsPrint."
   },
   {
    "j": "fieldValidation",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "fieldValidation instructs the server on how to handle objects in the request (POST/PUT/PATCH) containing unknown or duplicate fields. Valid values are: - Ignore: This will ignore any unknown fields that are silently dropped from the object, and will ignore all but the last duplicate field that the decoder encounters. This is the default behavior prior to v1.23. - Warn: This will send a warning via the standard warning response header for each unknown field that is dropped from the object, and for each duplicate field that is encountered. The request will still succeed if there are no other errors, and will only persist the last of any duplicate fields. This is the default in v1.23+ - Strict: This will fail the request with a BadRequest error if any unknown fields would be dropped from the object, or if any duplicate fields are present. The error returned from the server will contain all unknown and duplicate fields encountered."
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions": {
  "go": "v1.DeleteOptions",
  "d": "DeleteOptions may be provided when deleting an API object.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "gracePeriodSeconds",
    "t": "*int64",
    "o": 1,
    "p": 1,
    "d": "The duration in seconds before the object should be deleted. Value must be non-negative integer. The value zero indicates delete immediately. If this value is nil, the default grace period for the specified type will be used. Defaults to a per object value if not specified. zero means delete immediately."
   },
   {
    "j": "preconditions",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions",
    "o": 1,
    "p": 2,
    "d": "Must be fulfilled before a deletion is carried out. If not possible, a 409 Conflict status will be returned."
   },
   {
    "j": "orphanDependents",
    "t": "*bool",
    "o": 1,
    "p": 3,
    "d": "Deprecated: please use the PropagationPolicy, this field will be deprecated in 1.7. Should the dependent objects be orphaned. If true/false, the \"orphan\" finalizer will be added to/removed from the object's finalizers list. Either this field or PropagationPolicy may be set, but not both."
   },
   {
    "j": "propagationPolicy",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.DeletionPropagation",
    "o": 1,
    "p": 4,
    "d": "Whether and how garbage collection will be performed. Either this field or OrphanDependents may be set, but not both. The default policy is decided by the existing finalizer set in the metadata.finalizers and the resource-specific default policy. Acceptable values are: 'Orphan' - orphan the dependents; 'Background' - allow the garbage collector to delete the dependents in the background; 'Foreground' - a cascading policy that deletes all dependents in the foreground."
   },
   {
    "j": "dryRun",
    "t": "[]string",
    "o": 1,
    "p": 5,
    "lt": "atomic",
    "d": "When present, indicates that modifications should not be persisted. An invalid or unrecognized dryRun directive will result in an error response and no further processing of the request. Valid values are: - All: all dry run stages will be processed"
   },
   {
    "j": "ignoreStoreReadErrorWithClusterBreakingPotential",
    "t": "*bool",
    "o": 1,
    "p": 6,
    "d": "if set to true, it will trigger an unsafe deletion of the resource in case the normal deletion flow fails with a corrupt object error. A resource is considered corrupt if it can not be retrieved from the underlying storage successfully because of a) its data can not be transformed e.g. decryption failure, or b) it fails to decode into an object. NOTE: unsafe deletion ignores finalizer constraints, skips precondition checks, and removes the object from the storage. WARNING: This may potentially break the cluster if the workload associated with the resource being unsafe-deleted relies on normal deletion flow. Use only if you REALLY know what you are doing. The default value is false, and the user must opt in to enable it"
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.DeletionPropagation": {
  "go": "v1.DeletionPropagation",
  "u": "string"
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorOperator": {
  "go": "v1.FieldSelectorOperator",
  "u": "string"
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement": {
  "go": "v1.FieldSelectorRequirement",
  "d": "FieldSelectorRequirement is a selector that contains values, a key, and an operator that relates the key and values.",
  "f": [
   {
    "j": "key",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "key is the field selector key that the requirement applies to."
   },
   {
    "j": "operator",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorOperator",
    "p": 2,
    "req": 1,
    "d": "operator represents a key's relationship to a set of values. Valid operators are In, NotIn, Exists, DoesNotExist. The list of operators may grow in the future."
   },
   {
    "j": "values",
    "t": "[]string",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "values is an array of string values. If the operator is In or NotIn, the values array must be non-empty. If the operator is Exists or DoesNotExist, the values array must be empty."
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": {
  "go": "v1.FieldsV1",
  "d": "FieldsV1 stores a set of fields in a data structure like a Trie, in JSON format.\n\nEach key is either a '.' representing the field itself, and will always map to an empty set, or a string representing a sub-field or item. The string will follow one of these four formats: 'f:<name>', where <name> is the name of a field in a struct, or key in a map 'v:<value>', where <value> is the exact json formatted value of a list item 'i:<index>', where <index> is position of a item in a list 'k:<keys>', where <keys> is a map of  a list item's key fields to their unique values If a key maps to an empty Fields value, the field that key represents is part of the set.\n\nThe exact format is defined in sigs.k8s.io/structured-merge-diff"
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.GroupResource": {
  "go": "v1.GroupResource",
  "d": "GroupResource specifies a Group and a Resource, but does not force a version.  This is useful for identifying concepts during lookup stages without having partially valid types",
  "f": [
   {
    "j": "group",
    "t": "string",
    "p": 1,
    "req": 1
   },
   {
    "j": "resource",
    "t": "string",
    "p": 2,
    "req": 1
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector": {
  "go": "v1.LabelSelector",
  "d": "A label selector is a label query over a set of resources. The result of matchLabels and matchExpressions are ANDed. An empty label selector matches all objects. A null label selector matches no objects.",
  "f": [
   {
    "j": "matchLabels",
    "t": "map[string]string",
    "o": 1,
    "p": 1,
    "d": "matchLabels is a map of {key,value} pairs. A single {key,value} in the matchLabels map is equivalent to an element of matchExpressions, whose key field is \"key\", the operator is \"In\", and the values array contains only \"value\". The requirements are ANDed."
   },
   {
    "j": "matchExpressions",
    "t": "[]@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement",
    "o": 1,
    "p": 2,
    "lt": "atomic",
    "d": "matchExpressions is a list of label selector requirements. The requirements are ANDed."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorOperator": {
  "go": "v1.LabelSelectorOperator",
  "u": "string"
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement": {
  "go": "v1.LabelSelectorRequirement",
  "d": "A label selector requirement is a selector that contains values, a key, and an operator that relates the key and values.",
  "f": [
   {
    "j": "key",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "key is the label key that the selector applies to."
   },
   {
    "j": "operator",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorOperator",
    "p": 2,
    "req": 1,
    "d": "operator represents a key's relationship to a set of values. Valid operators are In, NotIn, Exists and DoesNotExist."
   },
   {
    "j": "values",
    "t": "[]string",
    "o": 1,
    "p": 3,
    "lt": "atomic",
    "d": "values is an array of string values. If the operator is In or NotIn, the values array must be non-empty. If the operator is Exists or DoesNotExist, the values array must be empty. This array is replaced during a strategic merge patch."
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta": {
  "go": "v1.ListMeta",
  "d": "ListMeta describes metadata that synthetic resources must have, including lists and various status objects. A resource may have only one of {ObjectMeta, ListMeta}.",
  "f": [
   {
    "j": "selfLink",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Deprecated: selfLink is a legacy read-only field that is no longer populated by the system."
   },
   {
    "j": "resourceVersion",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "String that identifies the server's internal version of this object that can be used by clients to determine when objects have changed. Value must be treated as opaque by clients and passed unmodified back to the server. Populated by the system. Read-only. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#concurrency-control-and-consistency"
   },
   {
    "j": "continue",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "continue may be set if the user set a limit on the number of items returned, and indicates that the server has more data available. The value is opaque and may be used to issue another request to the endpoint that served this list to retrieve the next set of available objects. Continuing a consistent list may not be possible if the server configuration has changed or more than a few minutes have passed. The resourceVersion field returned when using this continue value will be identical to the value in the first response, unless you have received this token from an error message."
   },
   {
    "j": "remainingItemCount",
    "t": "*int64",
    "o": 1,
    "p": 4,
    "d": "remainingItemCount is the number of subsequent items in the list which are not included in this list response. If the list request contained label or field selectors, then the number of remaining items is unknown and the field will be left unset and omitted during serialization. If the list is complete (either because it is not chunking or because this is the last chunk), then there are no more remaining items and this field will be left unset and omitted during serialization. Servers older than v1.15 do not set this field. The intended use of the remainingItemCount is *estimating* the size of a collection. Clients should not rely on the remainingItemCount to be set or to be exact."
   },
   {
    "j": "shardInfo",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.ShardInfo",
    "o": 1,
    "p": 5,
    "d": "shardInfo is set when the list is a filtered subset of the full collection, as selected by a shard selector on the request. It echoes back the selector so clients can verify which shard they received and merge sharded responses. Clients should not cache sharded list responses as a full representation of the collection.\n\nThis is an alpha field and requires enabling the ShardedListAndWatch feature gate."
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry": {
  "go": "v1.ManagedFieldsEntry",
  "d": "ManagedFieldsEntry is a workflow-id, a FieldSet and the group version of the resource that the fieldset applies to.",
  "f": [
   {
    "j": "manager",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Manager is an identifier of the workflow managing these fields."
   },
   {
    "j": "operation",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsOperationType",
    "o": 1,
    "p": 2,
    "d": "Operation is the type of operation which lead to this ManagedFieldsEntry being created. The only valid values for this field are 'Apply' and 'Update'."
   },
   {
    "j": "apiVersion",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "APIVersion defines the version of this resource that this field set applies to. The format is \"group/version\" just like the top-level APIVersion field. It is necessary to track the version of a field set because it cannot be automatically converted."
   },
   {
    "j": "time",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 4,
    "d": "Time is the timestamp of when the ManagedFields entry was added. The timestamp will also be updated if a field is added, the manager changes any of the owned fields value or removes a field. The timestamp does not update when a field is removed from the entry because another manager took it over."
   },
   {
    "j": "fieldsType",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "FieldsType is the discriminator for the different fields format and version. There is currently only one possible value: \"FieldsV1\""
   },
   {
    "j": "fieldsV1",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "o": 1,
    "p": 7,
    "d": "FieldsV1 holds the first JSON version format as described in the \"FieldsV1\" type."
   },
   {
    "j": "subresource",
    "t": "string",
    "o": 1,
    "p": 8,
    "d": "Subresource is the name of the subresource used to update that object, or empty string if the object was updated through the main resource. The value of this field is used to distinguish between managers, even if they share the same name. For example, a status update will be distinct from a regular update using the same manager name. Note that the APIVersion field is not related to the Subresource field and it always corresponds to the version of the main resource."
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsOperationType": {
  "go": "v1.ManagedFieldsOperationType",
  "u": "string"
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": {
  "go": "v1.MicroTime",
  "d": "MicroTime is version of Time with microsecond level precision."
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
  "go": "v1.ObjectMeta",
  "d": "ObjectMeta is metadata that all persisted resources must have, which includes all objects users must create.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
   },
   {
    "j": "generateName",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "GenerateName is an optional prefix, used by the server, to generate a unique name ONLY IF the Name field has not been provided. If this field is used, the name returned to the client will be different than the name passed. This value will also be combined with a unique suffix. The provided value has the same validation rules as the Name field, and may be truncated by the length of the suffix required to make the value unique on the server.\n\nIf this field is specified and the generated name exists, the server will return a 409.\n\nApplied only if Name is not specified. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#idempotency"
   },
   {
    "j": "namespace",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "Namespace defines the space within which each name must be unique. An empty namespace is equivalent to the \"default\" namespace, but \"default\" is the canonical representation. Not all objects are required to be scoped to a namespace - the value of this field for those objects will be empty.\n\nMust be a DNS_LABEL. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces"
   },
   {
    "j": "selfLink",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "Deprecated: selfLink is a legacy read-only field that is no longer populated by the system."
   },
   {
    "j": "uid",
    "t": "@io.k8s.apimachinery.pkg.types.UID",
    "o": 1,
    "p": 5,
    "d": "UID is the unique in time and space value for this object. It is typically generated by the server on successful creation of a resource and is not allowed to change on PUT operations.\n\nPopulated by the system. Read-only. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#uids"
   },
   {
    "j": "resourceVersion",
    "t": "string",
    "o": 1,
    "p": 6,
    "d": "An opaque value that represents the internal version of this object that can be used by clients to determine when objects have changed. May be used for optimistic concurrency, change detection, and the watch operation on a resource or set of resources. Clients must treat these values as opaque and passed unmodified back to the server. They may only be valid for a particular resource or set of resources.\n\nPopulated by the system. Read-only. Value must be treated as opaque by clients and . More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#concurrency-control-and-consistency"
   },
   {
    "j": "generation",
    "t": "int64",
    "o": 1,
    "p": 7,
    "d": "A sequence number representing a specific generation of the desired state. Populated by the system. Read-only."
   },
   {
    "j": "creationTimestamp",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 3,
    "p": 8,
    "d": "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "deletionTimestamp",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 9,
    "d": "DeletionTimestamp is RFC 3339 date and time at which this resource will be deleted. This field is set by the server when a graceful deletion is requested by the user, and is not directly settable by a client. The resource is expected to be deleted (no longer visible from resource lists, and not reachable by name) after the time in this field, once the finalizers list is empty. As long as the finalizers list contains items, deletion is blocked. Once the deletionTimestamp is set, this value may not be unset or be set further into the future, although it may be shortened or the resource may be deleted prior to this time. For example, a user may request that a pod is deleted in 30 seconds. The Kubelet will react by sending a graceful termination signal to the containers in the pod. After that 30 seconds, the Kubelet will send a hard termination signal (SIGKILL) to the container and after cleanup, remove the pod from the API. In the presence of network partitions, this object may still exist after this timestamp, until an administrator or automated process can determine the resource is fully terminated. If not set, graceful deletion of the object has not been requested.\n\nPopulated by the system when a graceful deletion is requested. Read-only. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "deletionGracePeriodSeconds",
    "t": "*int64",
    "o": 1,
    "p": 10,
    "d": "Number of seconds allowed for this object to gracefully terminate before it will be removed from the system. Only set when deletionTimestamp is also set. May only be shortened. Read-only."
   },
   {
    "j": "labels",
    "t": "map[string]string",
    "o": 1,
    "p": 11,
    "d": "Map of string keys and values that can be used to organize and categorize (scope and select) objects. May match selectors of replication controllers and services. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels"
   },
   {
    "j": "annotations",
    "t": "map[string]string",
    "o": 1,
    "p": 12,
    "d": "Annotations is an unstructured key value map stored with a resource that may be set by external tools to store and retrieve arbitrary metadata. They are not queryable and should be preserved when modifying objects. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/annotations"
   },
   {
    "j": "ownerReferences",
    "t": "[]@io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference",
    "o": 1,
    "p": 13,
    "ps": "merge",
    "pk": "uid",
    "lt": "map",
    "lk": [
     "uid"
    ],
    "d": "List of objects depended by this object. If ALL objects in the list have been deleted, this object will be garbage collected. If this object is managed by a controller, then an entry in this list will point to this controller, with the controller field set to true. There cannot be more than one managing controller."
   },
   {
    "j": "finalizers",
    "t": "[]string",
    "o": 1,
    "p": 14,
    "ps": "merge",
    "lt": "set",
    "d": "Must be empty before the object is deleted from the registry. Each entry is an identifier for the responsible component that will remove the entry from the list. If the deletionTimestamp of the object is non-nil, entries in this list can only be removed. Finalizers may be processed and removed in any order.  Order is NOT enforced because it introduces significant risk of stuck finalizers. finalizers is a shared field, any actor with permission can reorder it. If the finalizer list is processed in order, then this can lead to a situation in which the component responsible for the first finalizer in the list is waiting for a signal (field value, external system, or other) produced by a component responsible for a finalizer later in the list, resulting in a deadlock. Without enforced ordering finalizers are free to order amongst themselves and are not vulnerable to ordering changes in the list."
   },
   {
    "j": "managedFields",
    "t": "[]@io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry",
    "o": 1,
    "p": 17,
    "lt": "atomic",
    "d": "ManagedFields maps workflow-id and version to the set of fields that are managed by that workflow. This is mostly for internal housekeeping, and users typically shouldn't need to set or understand this field. A workflow can be the user's name, a controller's name, or the name of a specific apply path like \"ci-cd\". The set of fields is always in the version that the workflow used when modifying the object."
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference": {
  "go": "v1.OwnerReference",
  "d": "OwnerReference contains enough information to let you identify an owning object. An owning object must be in the same namespace as the dependent, or be cluster-scoped, so there is no namespace field.",
  "f": [
   {
    "j": "apiVersion",
    "t": "string",
    "p": 5,
    "req": 1,
    "d": "API version of the referent."
   },
   {
    "j": "kind",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "Kind of the referent. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "name",
    "t": "string",
    "p": 3,
    "req": 1,
    "d": "Name of the referent. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
   },
   {
    "j": "uid",
    "t": "@io.k8s.apimachinery.pkg.types.UID",
    "p": 4,
    "req": 1,
    "d": "UID of the referent. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#uids"
   },
   {
    "j": "controller",
    "t": "*bool",
    "o": 1,
    "p": 6,
    "d": "If true, this reference points to the managing controller."
   },
   {
    "j": "blockOwnerDeletion",
    "t": "*bool",
    "o": 1,
    "p": 7,
    "d": "If true, AND if the owner has the \"foregroundDeletion\" finalizer, then the owner cannot be deleted from the key-value store until this reference is removed. See https://kubernetes.io/docs/concepts/architecture/garbage-collection/#foreground-deletion for how the garbage collector interacts with this field and enforces the foreground deletion. Defaults to false. To set this field, a user needs \"delete\" permission of the owner, otherwise 422 (Unprocessable Entity) will be returned."
   }
  ],
  "st": "atomic"
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.PatchOptions": {
  "go": "v1.PatchOptions",
  "d": "PatchOptions may be provided when patching an API object. PatchOptions is meant to be a superset of UpdateOptions.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "dryRun",
    "t": "[]string",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "When present, indicates that modifications should not be persisted. An invalid or unrecognized dryRun directive will result in an error response and no further processing of the request. Valid values are: - All: all dry run stages will be processed"
   },
   {
    "j": "force",
    "t": "*bool",
    "o": 1,
    "p": 2,
    "d": "Force is going to \"force\" Apply requests. It means user will re-acquire conflicting fields owned by other people. Force flag must be unset for non-apply patch requests."
   },
   {
    "j": "fieldManager",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "fieldManager is a name associated with the actor or entity that is making these changes. The value must be less than or 128 characters long, and only contain printable characters, as defined by https://golang.org/pkg/unicode/#IsPrint. This field is required for apply requests (application/apply-patch) but optional for non-apply patch types (JsonPatch, MergePatch, StrategicMergePatch)."
   },
   {
    "j": "fieldValidation",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "fieldValidation instructs the server on how to handle objects in the request (POST/PUT/PATCH) containing unknown or duplicate fields. Valid values are: - Ignore: This will ignore any unknown fields that are silently dropped from the object, and will ignore all but the last duplicate field that the decoder encounters. This is the default behavior prior to v1.23. - Warn: This will send a warning via the standard warning response header for each unknown field that is dropped from the object, and for each duplicate field that is encountered. The request will still succeed if there are no other errors, and will only persist the last of any duplicate fields. This is the default in v1.23+ - Strict: This will fail the request with a BadRequest error if any unknown fields would be dropped from the object, or if any duplicate fields are present. The error returned from the server will contain all unknown and duplicate fields encountered."
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions": {
  "go": "v1.Preconditions",
  "d": "Preconditions must be fulfilled before an operation (update, delete, etc.) is carried out.",
  "f": [
   {
    "j": "uid",
    "t": "*@io.k8s.apimachinery.pkg.types.UID",
    "o": 1,
    "p": 1,
    "d": "Specifies the target UID."
   },
   {
    "j": "resourceVersion",
    "t": "*string",
    "o": 1,
    "p": 2,
    "d": "Specifies the target ResourceVersion"
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.ShardInfo": {
  "go": "v1.ShardInfo",
  "d": "ShardInfo describes the shard selector that was applied to produce a list response. Its presence on a list response indicates the list is a filtered subset.",
  "f": [
   {
    "j": "selector",
    "t": "string",
    "p": 1,
    "req": 1,
    "d": "selector is the shard selector string from the request, echoed back so clients can verify which shard they received and merge responses from multiple shards."
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.Status": {
  "go": "v1.Status",
  "d": "Status is a return value for calls that don't return other objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "status",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "Status of the operation. One of: \"Success\" or \"Failure\". More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "A human-readable description of the status of this operation."
   },
   {
    "j": "reason",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.StatusReason",
    "o": 1,
    "p": 4,
    "d": "A machine-readable description of why this operation is in the \"Failure\" status. If this value is empty there is no information available. A Reason clarifies an HTTP status code but does not override it."
   },
   {
    "j": "details",
    "t": "*@io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails",
    "o": 1,
    "p": 5,
    "d": "Extended data associated with the reason.  Each reason may define its own extended details. This field is optional and the data returned is not guaranteed to conform to any schema except that defined by the reason type."
   },
   {
    "j": "code",
    "t": "int32",
    "o": 1,
    "p": 6,
    "d": "Suggested HTTP return code for this status, 0 if not set."
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.StatusCause": {
  "go": "v1.StatusCause",
  "d": "StatusCause provides more information about an api.Status failure, including cases when multiple errors are encountered.",
  "f": [
   {
    "j": "reason",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.CauseType",
    "o": 1,
    "p": 1,
    "d": "A machine-readable description of the cause of the error. If this value is empty there is no information available."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "A human-readable description of the cause of the error.  This field may be presented as-is to a reader."
   },
   {
    "j": "field",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "The field of the resource that has caused this error, as named by its JSON serialization. May include dot and postfix notation for nested attributes. Arrays are zero-indexed.  Fields may appear more than once in an array of causes due to fields having multiple errors. Optional.\n\nExamples:\n  \"name\" - the field \"name\" on the current resource\n  \"items[0].name\" - the field \"name\" on the first array entry in \"items\""
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails": {
  "go": "v1.StatusDetails",
  "d": "StatusDetails is a set of additional properties that MAY be set by the server to provide additional information about a response. The Reason field of a Status object defines what attributes will be set. Clients must ignore fields that do not match the defined type of each attribute, and should assume that any attribute may be empty, invalid, or under defined.",
  "f": [
   {
    "j": "name",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "The name attribute of the resource associated with the status StatusReason (when there is a single name which can be described)."
   },
   {
    "j": "group",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "The group attribute of the resource associated with the status StatusReason."
   },
   {
    "j": "kind",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "The kind attribute of the resource associated with the status StatusReason. On some operations may differ from the requested resource Kind. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "uid",
    "t": "@io.k8s.apimachinery.pkg.types.UID",
    "o": 1,
    "p": 6,
    "d": "UID of the resource. (when there is a single resource which can be described). More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#uids"
   },
   {
    "j": "causes",
    "t": "[]@io.k8s.apimachinery.pkg.apis.meta.v1.StatusCause",
    "o": 1,
    "p": 4,
    "lt": "atomic",
    "d": "The Causes array includes more details associated with the StatusReason failure. Not all StatusReasons may provide detailed causes."
   },
   {
    "j": "retryAfterSeconds",
    "t": "int32",
    "o": 1,
    "p": 5,
    "d": "If specified, the time in seconds before the operation should be retried. Some errors may indicate the client must take an alternate action - for those errors this field may indicate how long to wait before taking the alternate action."
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.StatusReason": {
  "go": "v1.StatusReason",
  "u": "string"
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.Time": {
  "go": "v1.Time",
  "d": "Time is a wrapper around time.Time which supports correct marshaling to YAML and JSON.  Wrappers are provided for many of the factory methods that the time package offers."
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta": {
  "go": "v1.TypeMeta",
  "d": "TypeMeta describes an individual object in an API response or request with strings representing the type of the object and its API schema version. Structures that are versioned or persisted should inline TypeMeta.",
  "f": [
   {
    "j": "kind",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
   },
   {
    "j": "apiVersion",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.UpdateOptions": {
  "go": "v1.UpdateOptions",
  "d": "UpdateOptions may be provided when updating an API object. All fields in UpdateOptions should also be present in PatchOptions.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "dryRun",
    "t": "[]string",
    "o": 1,
    "p": 1,
    "lt": "atomic",
    "d": "When present, indicates that modifications should not be persisted. An invalid or unrecognized dryRun directive will result in an error response and no further processing of the request. Valid values are: - All: all dry run stages will be processed"
   },
   {
    "j": "fieldManager",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "fieldManager is a name associated with the actor or entity that is making these changes. The value must be less than or 128 characters long, and only contain printable characters, as defined by https://golang.org/pkg/unicode/#IsPrint."
   },
   {
    "j": "fieldValidation",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "fieldValidation instructs the server on how to handle objects in the request (POST/PUT/PATCH) containing unknown or duplicate fields. Valid values are: - Ignore: This will ignore any unknown fields that are silently dropped from the object, and will ignore all but the last duplicate field that the decoder encounters. This is the default behavior prior to v1.23. - Warn: This will send a warning via the standard warning response header for each unknown field that is dropped from the object, and for each duplicate field that is encountered. The request will still succeed if there are no other errors, and will only persist the last of any duplicate fields. This is the default in v1.23+ - Strict: This will fail the request with a BadRequest error if any unknown fields would be dropped from the object, or if any duplicate fields are present. The error returned from the server will contain all unknown and duplicate fields encountered."
   }
  ]
 },
 "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent": {
  "go": "v1.WatchEvent",
  "d": "Event represents a single event to a watched resource.",
  "f": [
   {
    "j": "type",
    "t": "string",
    "p": 1,
    "req": 1
   },
   {
    "j": "object",
    "t": "@io.k8s.apimachinery.pkg.runtime.RawExtension",
    "p": 2,
    "req": 1,
    "d": "Object is:\n * If Type is Added or Modified: the new state of the object.\n * If Type is Deleted: the state of the object immediately before deletion.\n * If Type is Error: *Status is recommended; other types may make sense\n   depending on context."
   }
  ]
 },
 "io.k8s.apimachinery.pkg.runtime.RawExtension": {
  "go": "runtime.RawExtension",
  "d": "RawExtension is used to hold extensions in external versions.\n\nTo use this, make a field which has RawExtension as its type in your external, versioned struct, and Object in your internal struct. You also need to register your various plugin types.\n\n// Internal package:\n\n\ttype MyAPIObject struct {\n\t\truntime.TypeMeta `json:\"\"`\n\t\tMyPlugin runtime.Object `json:\"myPlugin\"`\n\t}\n\n\ttype PluginA struct {\n\t\tAOption string `json:\"aOption\"`\n\t}\n\n// External package:\n\n\ttype MyAPIObject struct {\n\t\truntime.TypeMeta `json:\"\"`\n\t\tMyPlugin runtime.RawExtension `json:\"myPlugin\"`\n\t}\n\n\ttype PluginA struct {\n\t\tAOption string `json:\"aOption\"`\n\t}\n\n// On the wire, the JSON will look something like this:\n\n\t{\n\t\t\"kind\":\"MyAPIObject\",\n\t\t\"apiVersion\":\"v1\",\n\t\t\"myPlugin\": {\n\t\t\t\"kind\":\"PluginA\",\n\t\t\t\"aOption\":\"foo\",\n\t\t},\n\t}\n\nSo what happens? Decode first uses json or yaml to unmarshal the serialized data into your external MyAPIObject. That causes the raw JSON to be stored, but not unpacked. The next step is to copy (using pkg/conversion) into the internal struct. The runtime package's DefaultScheme has conversion functions installed which will unpack the JSON stored in RawExtension, turning it into the correct object type, and storing it in the Object. (TODO: In the case where the object is of an unknown type, a runtime.Unknown object will be created and stored.)"
 },
 "io.k8s.apimachinery.pkg.types.UID": {
  "go": "types.UID",
  "u": "string"
 },
 "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
  "go": "intstr.IntOrString",
  "d": "IntOrString is a type that can hold an int32 or a string.  When used in JSON or YAML marshalling and unmarshalling, it produces or consumes the inner type.  This allows you to have, for example, a JSON field that can accept a name or number."
 },
 "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService": {
  "go": "v1.APIService",
  "d": "APIService represents a server for a particular GroupVersion. Name must be \"version.group\".",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "o": 1,
    "p": 1,
    "d": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "spec",
    "t": "@io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceSpec",
    "o": 1,
    "p": 2,
    "d": "Spec contains information for locating and communicating with a server"
   },
   {
    "j": "status",
    "t": "@io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceStatus",
    "o": 1,
    "p": 3,
    "d": "Status contains derived information about an API server"
   }
  ]
 },
 "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceCondition": {
  "go": "v1.APIServiceCondition",
  "d": "APIServiceCondition describes the state of an APIService at a particular point",
  "f": [
   {
    "j": "type",
    "t": "@io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceConditionType",
    "p": 1,
    "req": 1,
    "d": "Type is the type of the condition."
   },
   {
    "j": "status",
    "t": "@io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ConditionStatus",
    "p": 2,
    "req": 1,
    "d": "Status is the status of the condition. Can be True, False, Unknown."
   },
   {
    "j": "lastTransitionTime",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "o": 1,
    "p": 3,
    "d": "Last time the condition transitioned from one status to another."
   },
   {
    "j": "reason",
    "t": "string",
    "o": 1,
    "p": 4,
    "d": "Unique, one-word, CamelCase reason for the condition's last transition."
   },
   {
    "j": "message",
    "t": "string",
    "o": 1,
    "p": 5,
    "d": "Human-readable message indicating details about last transition."
   }
  ]
 },
 "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceConditionType": {
  "go": "v1.APIServiceConditionType",
  "u": "string"
 },
 "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceList": {
  "go": "v1.APIServiceList",
  "d": "APIServiceList is a list of APIService objects.",
  "f": [
   {
    "j": "",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    "req": 1
   },
   {
    "j": "metadata",
    "t": "@io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "o": 1,
    "p": 1,
    "d": "Standard list metadata More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
   },
   {
    "j": "items",
    "t": "[]@io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService",
    "p": 2,
    "req": 1,
    "d": "Items is the list of APIService"
   }
  ]
 },
 "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceSpec": {
  "go": "v1.APIServiceSpec",
  "d": "APIServiceSpec contains information for locating and communicating with a server. Only https is supported, though you are able to disable certificate verification.",
  "f": [
   {
    "j": "service",
    "t": "*@io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference",
    "o": 1,
    "p": 1,
    "d": "Service is a reference to the service for this API server.  It must communicate on port 443. If the Service is nil, that means the handling for the API groupversion is handled locally on this server. The call will simply delegate to the normal handler chain to be fulfilled."
   },
   {
    "j": "group",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "Group is the API group name this server hosts"
   },
   {
    "j": "version",
    "t": "string",
    "o": 1,
    "p": 3,
    "d": "Version is the API version this server hosts.  For example, \"v1\""
   },
   {
    "j": "insecureSkipTLSVerify",
    "t": "bool",
    "o": 1,
    "p": 4,
    "d": "InsecureSkipTLSVerify disables TLS certificate verification when communicating with this server. This is strongly discouraged.  You should use the CABundle instead."
   },
   {
    "j": "caBundle",
    "t": "bytes",
    "o": 1,
    "p": 5,
    "lt": "atomic",
    "d": "CABundle is a PEM encoded CA bundle which will be used to validate an API server's serving certificate. If unspecified, system trust roots on the apiserver are used."
   },
   {
    "j": "groupPriorityMinimum",
    "t": "int32",
    "p": 7,
    "req": 1,
    "d": "GroupPriorityMinimum is the priority this group should have at least. Higher priority means that the group is preferred by clients over lower priority ones. Note that other versions of this group might specify even higher GroupPriorityMinimum values such that the whole group gets a higher priority. The primary sort is based on GroupPriorityMinimum, ordered highest number to lowest (20 before 10). The secondary sort is based on the alphabetical comparison of the name of the object.  (v1.bar before v1.foo) We'd recommend something like: *.k8s.io (except extensions) at 18000 and PaaSes (OpenShift, Deis) are recommended to be in the 2000s"
   },
   {
    "j": "versionPriority",
    "t": "int32",
    "p": 8,
    "req": 1,
    "d": "VersionPriority controls the ordering of this API version inside of its group.  Must be greater than zero. The primary sort is based on VersionPriority, ordered highest to lowest (20 before 10). Since it's inside of a group, the number can be small, probably in the 10s. In case of equal version priorities, the version string will be used to compute the order inside a group. If the version string is \"kube-like\", it will sort above non \"kube-like\" version strings, which are ordered lexicographically. \"Kube-like\" versions start with a \"v\", then are followed by a number (the major version), then optionally the string \"alpha\" or \"beta\" and another number (the minor version). These are sorted first by GA > beta > alpha (where GA is a version with no suffix such as beta or alpha), and then by comparing major version, then minor version. An example sorted list of versions: v10, v2, v1, v11beta2, v10beta3, v3beta1, v12alpha1, v11alpha2, foo1, foo10."
   }
  ]
 },
 "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceStatus": {
  "go": "v1.APIServiceStatus",
  "d": "APIServiceStatus contains derived information about an API server",
  "f": [
   {
    "j": "conditions",
    "t": "[]@io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceCondition",
    "o": 1,
    "p": 1,
    "ps": "merge",
    "pk": "type",
    "lt": "map",
    "lk": [
     "type"
    ],
    "d": "Current service state of apiService."
   }
  ]
 },
 "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ConditionStatus": {
  "go": "v1.ConditionStatus",
  "u": "string"
 },
 "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference": {
  "go": "v1.ServiceReference",
  "d": "ServiceReference holds a reference to Service.legacy.k8s.io",
  "f": [
   {
    "j": "namespace",
    "t": "string",
    "o": 1,
    "p": 1,
    "d": "Namespace is the namespace of the service"
   },
   {
    "j": "name",
    "t": "string",
    "o": 1,
    "p": 2,
    "d": "Name is the name of the service"
   },
   {
    "j": "port",
    "t": "*int32",
    "o": 1,
    "p": 3,
    "d": "If specified, the port on the service that hosting webhook. Default to 443 for backward compatibility. `port` should be a valid port number (1-65535, inclusive)."
   }
  ]
 }
}
