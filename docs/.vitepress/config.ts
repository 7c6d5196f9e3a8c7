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
  rewrites: { "docs/index.md": "index.md" },
  cleanUrls: true,
  ignoreDeadLinks: [FILES],
  markdown: {
    languageAlias: { "policy-test": "yaml", workflow: "yaml", envoy: "yaml" },
    config: md => {
      md.set({ html: false })
      // Double braces are of shell and Go templates here, never Vue's. Code is left alone anyway.
      const { text } = md.renderer.rules
      md.renderer.rules.text = (...given) => (text?.(...given) ?? "").replaceAll("{{", "&#123;&#123;")
    },
  },
  // Of the landing page only: other pages show templates in code.
  transformHtml: (code, id) => {
    if (id.endsWith("/index.html") && code.includes("{{")) throw new Error("the site shows templates instead of text")
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      page("Get started", "/README"),
      page("Tasks", "/docs/own-workload"),
      page("Reference", "/docs/semantics"),
      page("Operations", "/docs/operations/troubleshooting"),
    ],
    sidebar: [
      {
        text: "Get started",
        items: [
          page("Five minutes", "/README"),
          page("Install", "/docs/install"),
          page("On Kubernetes", "/docs/kubernetes"),
          page("Prove your Istio policies", "/docs/istio-policies"),
          page("Coming from Istio", "/docs/coming-from-istio"),
        ],
      },
      {
        text: "Tasks",
        items: [
          page("Run your own program", "/docs/own-workload"),
          page("Add a second machine", "/docs/second-machine"),
          page("Use the console", "/docs/console"),
          page("Compare policies before you apply them", "/docs/answers"),
          page("Test policies", "/docs/policy-tests"),
          page("See who changed policies", "/docs/history"),
          page("Switch to STRICT", "/docs/switch-to-strict"),
          page("Call through the mesh", "/docs/xclient"),
          page("Enforce policies at a gateway", "/docs/authorizer"),
          page("Configure your gateway", "/docs/gateways"),
          page("Check policies in pipelines", "/docs/pipelines"),
          page("Verify an answer", "/docs/evidence"),
          page("Let an AI assistant ask", "/docs/mcp"),
          page("Use the policy library", "/docs/policy-library"),
        ],
      },
      {
        text: "Concepts",
        items: [
          page("Concepts", "/docs/concepts"),
          page("Architecture", "/ARCHITECTURE"),
          page("Threat model", "/THREAT_MODEL"),
          page("FAQ", "/docs/faq"),
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
          page("Control plane", "/docs/control-plane"),
          page("Embedded cluster", "/docs/cluster"),
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
        text: "Contributing",
        items: [
          page("Contributing", "/CONTRIBUTING"),
          page("Your first change", "/docs/first-change"),
          page("How it is tested", "/docs/how-it-is-tested"),
          page("Changelog", "/CHANGELOG"),
        ],
      },
    ],
  },
})
