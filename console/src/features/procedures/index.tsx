import type { ScreenProps } from "../../view";
import { ProcedureList } from "./ProcedureList";
import { ProcedurePage } from "./ProcedurePage";
import "./procedures.css";

/** Procedures: the list, or one procedure step by step. */
export default function Procedures({ id }: ScreenProps) {
  return id ? <ProcedurePage key={id} id={id} /> : <ProcedureList />;
}
