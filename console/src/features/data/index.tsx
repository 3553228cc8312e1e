/** Data: where they are stored, what they depend on, and what a wrong input affects. */
import { Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { useRead } from "../../api";
import { useAsOf } from "../../time";
import { Failure, Skeleton } from "../../ui";
import { useSearchParam, type ScreenProps } from "../../view";
import { Calibrations } from "./Calibrations";
import { Custody, CustodyChips } from "./Custody";
import "./data.css";
import { Editions } from "./Editions";
import { searchFor, TABS, tabOf, type Tab } from "./places";

// The graph is large and is read only when it is shown.
const Lineage = lazy(() => import("./Lineage"));
const Impact = lazy(() => import("./Impact"));

const NAMES: Record<Tab, string> = { custody: "Custody", lineage: "Lineage", calibrations: "Calibrations", editions: "Editions" };

export default function Data({ kind, id }: ScreenProps) {
  const [named] = useSearchParam("tab");
  const tab = tabOf(kind, named);
  if (kind === "CalibrationRevision" && id && tab === "calibrations")
    return (
      <Suspense fallback={<Skeleton what="the calibration" />}>
        <Impact revisionId={id} />
      </Suspense>
    );
  return (
    <div className="main data">
      <header className="data-head">
        <h1 className="screen-title">Data</h1>
        <nav className="tabs" aria-label="Parts of this screen">
          {TABS.map((each) => (
            <Link
              key={each}
              to={kind === "Dataset" && id && (each === "lineage" || each === "custody") ? `/data/Dataset/${id}` : "/data"}
              search={searchFor(each)}
              activeProps={{}}
              className={each === tab ? "on" : ""}
              aria-current={each === tab ? "page" : undefined}
            >
              {NAMES[each]}
            </Link>
          ))}
        </nav>
        <span className="end row">
          <NotAsOf tab={tab} />
          {tab === "custody" && <CustodyChips />}
        </span>
      </header>
      {tab === "custody" && (kind === "Distribution" && id ? <OfCopy id={id} /> : <Custody selected={kind === "Dataset" ? id : undefined} />)}
      {tab === "lineage" && (
        <Suspense fallback={<Skeleton what="the lineage" />}>
          <Lineage kind={kind} id={id} />
        </Suspense>
      )}
      {tab === "calibrations" && <Calibrations selected={kind === "Calibration" ? id : undefined} />}
      {tab === "editions" && <Editions selected={kind === "Edition" ? id : undefined} />}
    </div>
  );
}

/** Say that a list shows the present while the past is viewed. */
function NotAsOf({ tab }: { tab: Tab }) {
  const { asOf } = useAsOf();
  return asOf ? <span className="chip act">{NAMES[tab]}: current, not as of the viewed time</span> : null;
}

/** Show the dataset that a copy is of. */
function OfCopy({ id }: { id: string }) {
  const copy = useRead("get_distribution", { distribution_id: id });
  if (copy.problem) return <Failure problem={copy.problem} what="the copy" operation="get_distribution" again={copy.again} />;
  return copy.data ? <Custody selected={copy.data.dataset_id} /> : <Skeleton what="the copy" />;
}
