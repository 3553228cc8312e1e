import { useEffect, useId, useLayoutEffect, useRef, useState, type CSSProperties, type KeyboardEvent, type ReactNode } from "react";

interface Props {
  /** The button that opens it. */
  button: (open: { isOpen: boolean; toggle: () => void; id: string }) => ReactNode;
  label: string;
  align?: "left" | "right";
  children: (close: () => void) => ReactNode;
}

/** Show something next to the button that opens it; `Escape` and a press elsewhere close it. */
export function Popover({ button, label, align = "left", children }: Props) {
  const [isOpen, setOpen] = useState(false);
  const [place, setPlace] = useState<CSSProperties>({});
  const anchor = useRef<HTMLSpanElement>(null);
  const id = useId();
  const close = () => setOpen(false);

  // Panels cut off what overflows them, so the place is one of the window.
  useLayoutEffect(() => {
    const box = isOpen ? anchor.current?.getBoundingClientRect() : undefined;
    if (!box) return;
    const isLow = box.bottom > innerHeight * 0.65;
    setPlace({
      ...(isLow ? { bottom: innerHeight - box.top + 6 } : { top: box.bottom + 6 }),
      ...(align === "right" || box.left > innerWidth - 440 ? { right: innerWidth - box.right } : { left: box.left }),
    });
  }, [align, isOpen]);

  useEffect(() => {
    if (!isOpen) return;
    const around = anchor.current;
    around?.querySelector<HTMLElement>(".pop .item, .pop button, .pop input")?.focus();
    const outside = (event: PointerEvent) => {
      if (!around?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside);
    return () => {
      document.removeEventListener("pointerdown", outside);
      // What had the focus is gone with the popover.
      if (document.activeElement === document.body) around?.querySelector<HTMLElement>("[aria-expanded]")?.focus();
    };
  }, [isOpen]);

  const pressed = (event: KeyboardEvent) => {
    if (event.key === "Escape" && isOpen) {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
    if (isOpen && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      const items = [...(anchor.current?.querySelectorAll<HTMLElement>(".pop .item") ?? [])];
      const step = event.key === "ArrowDown" ? 1 : -1;
      const at = items.indexOf(document.activeElement as HTMLElement);
      if (items.length > 0) {
        event.preventDefault();
        items[(at + step + items.length) % items.length]?.focus();
      }
    }
  };

  return (
    <span className="pop-anchor" ref={anchor} onKeyDown={pressed}>
      {button({ isOpen, toggle: () => setOpen(!isOpen), id })}
      {isOpen && (
        <div className="pop fixed" id={id} role="dialog" aria-label={label} style={place}>
          {children(close)}
        </div>
      )}
    </span>
  );
}
