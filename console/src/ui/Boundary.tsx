import { Component, type ReactNode } from "react";
import { Icon } from "./Icon";

interface Props {
  /** What is shown inside: «readiness». */
  what: string;
  /** With another value, what is inside is tried again: the address of a screen. */
  of?: string | undefined;
  children: ReactNode;
}

interface State {
  error: Error | undefined;
  of: string | undefined;
}

/** Keep a fault of the console to the part in which it happened, and say that the part is not shown. */
export class Boundary extends Component<Props, State> {
  override state: State = { error: undefined, of: this.props.of };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  static getDerivedStateFromProps({ of }: Props, state: State): Partial<State> | null {
    return of === state.of ? null : { error: undefined, of };
  }

  override render(): ReactNode {
    const { what, children } = this.props;
    const { error } = this.state;
    if (!error) return children;
    return (
      <div className="panel broken" role="alert">
        <div className="row">
          <Icon name="unknown" className="unk" />
          <b className="b">The console failed to show {what}.</b>
        </div>
        <p className="dim sm">
          This is a fault of the console, not of the beamline: the state of what is missing here is unknown. The other parts of the page are not affected.{" "}
          <code>{error.message}</code>
        </p>
        <div className="row">
          <button type="button" className="btn s" onClick={() => this.setState({ error: undefined })}>
            <Icon name="back" />
            Show again
          </button>
        </div>
      </div>
    );
  }
}
