import type { ScreenProps } from "../../view";
import { RunList } from "./RunList";
import { RunPage } from "./RunPage";
import "./runs.css";

/** Runs: the list, or one run completely. */
export default function Runs({ id }: ScreenProps) {
  return id ? <RunPage key={id} id={id} /> : <RunList />;
}
