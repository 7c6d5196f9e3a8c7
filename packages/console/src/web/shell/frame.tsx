// SPDX-License-Identifier: Apache-2.0
// The page's frame: who has signed in, where one is, and the way to everywhere else.

import { useQueryClient } from "@tanstack/react-query"
import { type ReactNode, Suspense, useEffect, useRef } from "react"
import { Link, Route, Switch, useLocation } from "wouter"
import { type About, signOut } from "../api/client.js"
import { NotFound } from "../pages/not-found.js"
import { PAGES } from "../pages/pages.js"
import { Away } from "./away.js"
import { Caught } from "./caught.js"
import "./frame.css"

export function Frame({ session }: { readonly session: About }): ReactNode {
  const [location] = useLocation()
  const queries = useQueryClient()
  const main = useRef<HTMLElement>(null)
  const here = PAGES.find(({ path }) => path === `/${location.split("/")[1] ?? ""}`)
  useEffect(() => {
    document.title = `${here?.title ?? "Merlon"} · ${session.names.mesh}`
  }, [here, session])
  const shown = useRef(here)
  useEffect(() => {
    // Who goes to another page by keyboard or ear begins at its beginning.
    if (shown.current !== here) main.current?.focus()
    shown.current = here
  }, [here])
  const leave = async (): Promise<void> => {
    await signOut().catch(() => undefined)
    queries.clear()
    window.location.replace("#/")
    window.location.reload()
  }
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header className="top">
        <span className="brand">{session.names.mesh}</span>
        <nav aria-label="Pages">
          {PAGES.map(({ path, title }) => (
            <Link key={path} href={path} aria-current={path === here?.path ? "page" : undefined}>
              {title}
            </Link>
          ))}
        </nav>
        <span className="who">
          <span title={session.user?.groups.join(", ")}>{session.user?.name}</span>
          <button type="button" onClick={() => void leave()}>
            Sign out
          </button>
        </span>
      </header>
      <Away />
      <main id="main" tabIndex={-1} ref={main}>
        <Caught key={location}>
          <Suspense fallback={<p role="status">Loading…</p>}>
            <Switch>
              {PAGES.map(({ path, Page }) => (
                <Route key={path} path={path === "/" ? "/" : `${path}/*?`}>
                  <Page />
                </Route>
              ))}
              <Route>
                <NotFound />
              </Route>
            </Switch>
          </Suspense>
        </Caught>
      </main>
    </div>
  )
}
