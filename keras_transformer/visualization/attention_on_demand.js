// Asks the server that the page came from for the weights of a layer.
const fetchLayer = (kind, layer) =>
  fetch(`${location.pathname}/${kind.name}/${layer + 1}`)
    .then((response) => response.arrayBuffer());

