// Asks the server that the page came from for the weights of a layer.
const fetchLayer = (kind, layer) =>
  fetch(`${location.pathname}/${kind.name}/${layer + 1}`)
    .then((response) => {
      if (response.ok) return response.arrayBuffer();
      throw new Error("These weights are no longer kept. Open this view again.");
    });

