// SPDX-License-Identifier: Apache-2.0
// The console's frame: sidebar, top bar, and the page at the current location.

import { type ReactNode, Suspense, useEffect, useRef, useState } from "react"
import { Route, Switch, useLocation } from "wouter"
import type { About } from "../api/client.js"
import { NotFound } from "../pages/not-found.js"
import { PAGES } from "../pages/pages.js"
import { Skeleton } from "../ui/loaded.js"
import { Away } from "./away.js"
import { Caught } from "./caught.js"
import { useHeartbeat } from "./heartbeat.js"
import { useNamespace } from "./namespace.js"
import { Sidebar } from "./sidebar.js"
import { TopBar } from "./top-bar.js"
import "./frame.css"

export function Frame({ session }: { readonly session: About }): ReactNode {
  const [location] = useLocation()
  // Links keep the namespace. Subscribing here renders all of them again when it changes.
  useNamespace()
  useHeartbeat()
  const [open, setOpen] = useState(false)
  const main = useRef<HTMLElement>(null)
  const here = PAGES.find(({ path }) => path === `/${location.split("/")[1] ?? ""}`)
  useEffect(() => {
    document.title = `${here?.title ?? "Merlon"} · ${session.names.mesh}`
  }, [here, session])
  const shown = useRef(location)
  useEffect(() => {
    // Users of keyboards and screen readers start at the top of the new page.
    if (shown.current !== location) main.current?.focus()
    shown.current = location
  }, [location])
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <Sidebar mesh={session.names.mesh} here={here} open={open} close={() => setOpen(false)} />
      <TopBar session={session} menuOpen={open} openMenu={() => setOpen(!open)} />
      <div>
        <Away />
        <main id="main" tabIndex={-1} ref={main}>
          <Caught key={location}>
            <Suspense fallback={<Skeleton />}>
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
    </div>
  )
}
