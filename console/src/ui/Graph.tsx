/** Objects and what connects them, from left to right; `L` shows the same as a list. */
import dagre from "@dagrejs/dagre";
import { Background, Controls, Handle, Position, ReactFlow, type Edge, type Node, type NodeProps } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { useMemo, useState } from "react";
import { markOfKind, stateText, TONES } from "../text/states";
import { useKeys } from "../view/keys";
import { Icon, KIND_ICONS, type IconName } from "./Icon";

/** How a box is drawn: the wrong one, affected, retracted, not affected, or the new one. */
export type GraphLook = "bad" | "hit" | "gone" | "off" | "new";

export interface GraphNode {
  id: string;
  kind: string;
  name: string;
  state?: string | null | undefined;
  /** The second line (default: the state). */
  note?: string | undefined;
  icon?: IconName;
  look?: GraphLook | undefined;
  isFocus?: boolean;
  /** The place among `columns`; without columns the connections decide. */
  column?: number;
}
export interface GraphEdge {
  from: string;
  to: string;
  /** The words between the two in the list: «derived from». */
  relation: string;
  look?: "hit" | "gone" | "off" | undefined;
  /** Connects two boxes of one column, with its words. */
  isVertical?: boolean;
}

interface Props {
  nodes: readonly GraphNode[];
  edges: readonly GraphEdge[];
  label: string;
  columns?: readonly string[];
  open?: (node: GraphNode) => void;
}

const [WIDTH, HEIGHT, PITCH, GAP, HEAD] = [176, 54, 214, 26, 30];
type Box = Node<{ node: GraphNode; open: Props["open"] }, "box">;
type Head = Node<{ title: string }, "head">;
type Place = { x: number; y: number };

export function Graph({ nodes, edges, label, columns, open }: Props) {
  const [isList, setList] = useState(false);
  useKeys({ L: () => setList(!isList) });
  const drawn = useMemo(() => draw(nodes, edges, columns, open), [columns, edges, nodes, open]);
  // Another set of boxes is another picture, which is fitted again.
  const picture = nodes.map(({ id }) => id).join(" ");
  return (
    <div className="graph" role="group" aria-label={label}>
      <button type="button" className="btn s graph-switch" aria-pressed={isList} onClick={() => setList(!isList)}>
        {isList ? "As a graph" : "As a list"} <kbd>L</kbd>
      </button>
      {isList ? (
        <GraphList nodes={nodes} edges={edges} open={open} />
      ) : (
        <ReactFlow
          key={picture}
          nodes={drawn.nodes}
          edges={drawn.edges}
          nodeTypes={NODE_TYPES}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          fitView
          fitViewOptions={{ padding: 0.06, maxZoom: 1, minZoom: 0.6 }}
          minZoom={0.2}
        >
          <Background gap={24} />
          <Controls showInteractive={false} />
        </ReactFlow>
      )}
    </div>
  );
}

function GraphBox({ data: { node, open } }: NodeProps<Box>) {
  const mark = node.state ? markOfKind(node.kind, node.state) : undefined;
  const tone = node.look === undefined && mark ? TONES[mark] : "";
  const icon = node.icon ?? KIND_ICONS[node.kind] ?? "document";
  const said = node.note ?? (node.state ? stateText(node.state) : node.kind.toLowerCase());
  return (
    <>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <Handle type="target" position={Position.Top} id="top" isConnectable={false} />
      <button
        type="button"
        className={`graph-node ${tone === "act" ? "" : tone} ${node.look ?? ""} ${node.isFocus ? "focus" : ""} nopan`}
        aria-label={`${node.kind} ${node.name}, ${said}`}
        title={`${node.name}, ${said}`}
        onClick={() => open?.(node)}
      >
        <Icon name={icon} />
        <b className="cut">{node.name}</b>
        <span className="cut">{said}</span>
      </button>
      <Handle type="source" position={Position.Right} isConnectable={false} />
      <Handle type="source" position={Position.Bottom} id="bottom" isConnectable={false} />
    </>
  );
}

function GraphHead({ data: { title } }: NodeProps<Head>) {
  return <div className="graph-head">{title}</div>;
}

const NODE_TYPES = { box: GraphBox, head: GraphHead };

function draw(nodes: readonly GraphNode[], edges: readonly GraphEdge[], columns: readonly string[] | undefined, open: Props["open"]): { nodes: (Box | Head)[]; edges: Edge[] } {
  const known = new Set(nodes.map(({ id }) => id));
  const drawn = edges.filter(({ from, to }) => known.has(from) && known.has(to));
  const places = columns ? inColumns(nodes, drawn, columns.length) : layOut(nodes, drawn);
  const heads = (columns ?? []).map((title, at): Head => ({ id: `head ${title}`, type: "head", position: { x: at * PITCH, y: 0 }, data: { title }, selectable: false }));
  const boxes = nodes.map((node): Box => ({ id: node.id, type: "box", position: places.get(node.id) ?? { x: 0, y: 0 }, data: { node, open } }));
  return {
    nodes: [...heads, ...boxes],
    edges: drawn.map(({ from, to, relation, look, isVertical }) => ({
      id: `${from} ${relation} ${to}`,
      source: from,
      target: to,
      className: look ?? "",
      zIndex: look === "hit" ? 1 : 0,
      ...(isVertical && { sourceHandle: "bottom", targetHandle: "top", type: "straight", className: "new", label: relation }),
    })),
  };
}

/** Return places where each column is a stack in the order of the boxes it is connected with. */
function inColumns(nodes: readonly GraphNode[], edges: readonly GraphEdge[], count: number): Map<string, Place> {
  const stacks = Array.from({ length: count }, (_, at) => nodes.filter(({ column = 0 }) => column === at));
  const tallest = Math.max(1, ...stacks.map((stack) => stack.length));
  const places = new Map<string, Place>();
  stacks.forEach((stack, at) => {
    const height = (id: string) => {
      const left = edges.filter(({ to, isVertical }) => to === id && !isVertical).flatMap(({ from }) => places.get(from)?.y ?? []);
      return left.length > 0 ? left.reduce((sum, y) => sum + y, 0) / left.length : undefined;
    };
    const ordered = stack.map((node, index) => ({ node, by: height(node.id) ?? Infinity, index })).sort((a, b) => (a.by === b.by ? a.index - b.index : a.by - b.by));
    // A short column is spread, so that its boxes stand next to those they are connected with.
    const step = (HEIGHT + GAP) * (stack.length > 1 && tallest > stack.length * 2 ? 1.6 : 1);
    const top = HEAD + ((tallest - 1) * (HEIGHT + GAP) - (stack.length - 1) * step) / 2;
    ordered.forEach(({ node }, index) => places.set(node.id, { x: at * PITCH, y: top + index * step }));
  });
  return places;
}

function layOut(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): Map<string, Place> {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: GAP, ranksep: PITCH - WIDTH + 20 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) graph.setNode(id, { width: WIDTH, height: HEIGHT });
  for (const { from, to } of edges) graph.setEdge(from, to);
  dagre.layout(graph);
  return new Map(
    nodes.map(({ id }) => {
      const { x, y } = graph.node(id) as Place;
      return [id, { x: x - WIDTH / 2, y: y - HEIGHT / 2 }];
    }),
  );
}

function GraphList({ nodes, edges, open }: { nodes: readonly GraphNode[]; edges: readonly GraphEdge[]; open: Props["open"] }) {
  const names = new Map(nodes.map(({ id, name }) => [id, name]));
  return (
    <ul className="graph-list">
      {nodes.map((node) => (
        <li key={node.id}>
          <button type="button" className="btn quiet s" onClick={() => open?.(node)}>
            <Icon name={node.icon ?? KIND_ICONS[node.kind] ?? "document"} />
            {node.name}
          </button>{" "}
          <span className="dim sm">{node.note ?? (node.state ? stateText(node.state) : node.kind.toLowerCase())}</span>
          <ul>
            {edges
              .filter(({ from }) => from === node.id)
              .map(({ to, relation }) => (
                <li key={`${relation} ${to}`} className="dim sm">
                  {relation.replaceAll("_", " ")} {names.get(to) ?? "an object that is not shown"}
                </li>
              ))}
          </ul>
        </li>
      ))}
    </ul>
  );
}
