// SPDX-License-Identifier: Apache-2.0
// The documentation as a site, from the pages as they lie in the repository: what links there links here. Building it
// fails at a link that leads nowhere. Search is in the page; nothing is asked of other hosts.

import { defineConfig } from "vitepress"

const page = (text: string, link: string) => ({ text, link })

/** Files that a page may name and that are no pages. */
const FILES = /\.(ts|tsx|js|json|ya?ml|sh|svg|png|service)$|LICENSE$|\/(samples|deploy|test|packages|bench|scripts)\//

export default defineConfig({
  title: "Merlon",
  description: "Mesh security policy that explains itself",
  srcDir: "..",
  outDir: "../dist/site",
  cacheDir: "../.cache/vitepress",
  srcExclude: ["dist/**", ".cache/**", ".merlon/**", ".github/**", "packages/cluster/test/**", "packages/*/bundle*/**"],
  rewrites: { "README.md": "index.md" },
  cleanUrls: true,
  ignoreDeadLinks: [FILES],
  // Words between double braces are shell and Go templates here, never Vue's.
  markdown: {
    languageAlias: { "policy-test": "yaml", workflow: "yaml", envoy: "yaml" },
    config: md => void md.set({ html: false }),
  },
  vue: { template: { compilerOptions: { delimiters: ["\u{e000}", "\u{e001}"] } } },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    sidebar: [
      {
        text: "Begin",
        items: [
          page("Get started in five minutes", "/"),
          page("Concepts", "/docs/concepts"),
          page("Install", "/docs/install"),
          page("On Kubernetes", "/docs/kubernetes"),
          page("Prove your Istio policies", "/docs/istio-policies"),
          page("Coming from Istio", "/docs/coming-from-istio"),
          page("FAQ", "/docs/faq"),
        ],
      },
      {
        text: "Tasks",
        items: [
          page("Run your own program", "/docs/own-workload"),
          page("Add a second machine", "/docs/second-machine"),
          page("Policies at a gateway", "/docs/authorizer"),
          page("Configure your gateway", "/docs/gateways"),
          page("Switch to STRICT", "/docs/switch-to-strict"),
          page("Compare policies before you apply them", "/docs/answers"),
          page("History of policies", "/docs/history"),
          page("Test policies", "/docs/policy-tests"),
          page("Check policies where you work", "/docs/pipelines"),
          page("Verify an answer", "/docs/evidence"),
          page("Let an AI assistant ask", "/docs/mcp"),
          page("Use the console", "/docs/console"),
          page("Use the policy library", "/docs/policy-library"),
        ],
      },
      {
        text: "Operations",
        items: [
          page("Troubleshoot by symptom", "/docs/operations/troubleshooting"),
          page("Backup and restore", "/docs/operations/backup"),
          page("Upgrade", "/docs/operations/upgrade"),
          page("Rotate certificates and keys", "/docs/operations/rotation"),
          page("Several control planes", "/docs/operations/several-control-planes"),
          page("Metrics and alerts", "/docs/operations/alerts"),
          page("Full disk", "/docs/operations/full-disk"),
          page("Wrong clocks", "/docs/operations/clocks"),
        ],
      },
      {
        text: "Reference",
        items: [
          page("Semantics", "/docs/semantics"),
          page("AuthorizationPolicy", "/docs/reference/authorizationpolicy"),
          page("RequestAuthentication", "/docs/reference/requestauthentication"),
          page("PeerAuthentication", "/docs/reference/peerauthentication"),
          page("MeshService", "/docs/reference/meshservice"),
          page("PolicyInvariant", "/docs/reference/policyinvariant"),
          page("Answers API", "/docs/reference/answers-api"),
          page("Errors", "/docs/reference/errors"),
          page("xserver", "/docs/xserver"),
          page("xclient", "/docs/xclient"),
          page("Control plane", "/docs/control-plane"),
          page("Embedded cluster", "/docs/cluster"),
        ],
      },
      {
        text: "Inside",
        items: [
          page("Architecture", "/ARCHITECTURE"),
          page("Threat model", "/THREAT_MODEL"),
          page("How it is tested", "/docs/how-it-is-tested"),
          page("Contributing", "/CONTRIBUTING"),
          page("Your first change", "/docs/first-change"),
          page("Changelog", "/CHANGELOG"),
        ],
      },
    ],
  },
})
