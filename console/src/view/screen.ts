/** What a screen is given by its address. */
export interface ScreenProps {
  /** The kind of the object in `/data/{kind}/{id}`. */
  kind?: string;
  /** The id of the object that is shown; without one, the screen shows its list. */
  id?: string;
}
